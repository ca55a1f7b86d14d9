import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { PgBoss } from 'pg-boss';

/** `POST /runs` puts a durable job into a queue nobody works on: the accept and no more. */
const boss = new PgBoss({
  connectionString: process.env.PG_URL,
  max: 16,
  supervise: false,
  schedule: false,
});
boss.on('error', (error) => console.error(error.message));
await boss.start();
await boss.createQueue('runs').catch(() => {});

createServer(async (request, response) => {
  if (request.method !== 'POST') return response.end('ok');
  const id = await boss.send('runs', JSON.parse(await text(request)));
  response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ id }));
}).listen(Number(process.env.PORT), '127.0.0.1');
