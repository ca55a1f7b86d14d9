import type { StatementSync } from 'node:sqlite';
import { openDynamo } from '#local/aws/dynamo/service.ts';
import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase, type StateDatabase } from '#local/aws/kit/state-database.ts';

/**
 * A program that serves DynamoDB from a state file and prints its URL. With a second argument N it kills
 * itself, as SIGKILL does, right after the N-th SQL statement of its first write.
 */
const [path, dieAfter] = process.argv.slice(2);
const state = openStateDatabase(path);
const dynamo = await openDynamo({ state: dieAfter ? mortal(state, Number(dieAfter)) : state });
const endpoint = await startAwsEndpoint({ services: [dynamo] });
console.log(endpoint.url);

function mortal(database: StateDatabase, statements: number): StateDatabase {
  let left: number | undefined;
  const count = () => {
    if (left === undefined) return;
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
  const counted = (statement: StatementSync) =>
    new Proxy(statement, {
      get(target, name) {
        const member = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          const result = member.apply(target, args);
          if (name === 'run') count();
          return result;
        };
      },
    });
  return new Proxy(database, {
    get(target, name) {
      if (name === 'prepare') return (sql: string) => counted(target.prepare(sql));
      if (name !== 'exec') return Reflect.get(target, name);
      return (sql: string) => {
        target.exec(sql);
        if (sql.startsWith('BEGIN')) left ??= statements;
        count();
      };
    },
  });
}
