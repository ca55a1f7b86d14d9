import { createServer } from 'node:http';
import { DBOS } from '@dbos-inc/dbos-sdk';

/** `POST /runs` starts a durable workflow that does nothing: the accept and no more. */
const noop = DBOS.registerWorkflow(async () => 1, { name: 'noop' });
DBOS.setConfig({
  name: 'peer',
  systemDatabaseUrl: process.env.PG_URL,
  systemDatabasePoolSize: 20,
  logLevel: 'error',
  runAdminServer: false,
});
await DBOS.launch();

createServer(async (request, response) => {
  if (request.method !== 'POST') return response.end('ok');
  for await (const _chunk of request);
  const handle = await DBOS.startWorkflow(noop)();
  response
    .writeHead(201, { 'content-type': 'application/json' })
    .end(JSON.stringify({ id: handle.workflowID }));
}).listen(Number(process.env.PORT), '127.0.0.1');
