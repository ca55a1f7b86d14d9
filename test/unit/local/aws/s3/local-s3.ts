import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase, type StateDatabase } from '#local/aws/kit/state-database.ts';
import { openS3, type S3Endpoint } from '#local/aws/s3/s3.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** The emulator over HTTP as it is on the wire: paths and headers are sent as given. */
export class LocalS3 {
  readonly root: string;
  readonly #state: StateDatabase;
  #s3: S3Endpoint;
  #endpoint: AwsEndpoint;

  private constructor(root: string, state: StateDatabase, s3: S3Endpoint, endpoint: AwsEndpoint) {
    this.root = root;
    this.#state = state;
    this.#s3 = s3;
    this.#endpoint = endpoint;
  }

  static async start(region?: string): Promise<LocalS3> {
    const root = await mkdtemp(join(tmpdir(), 'nexusdesk-s3-'));
    const state = openStateDatabase();
    const s3 = openS3({ state, dataDir: join(root, 'data'), ...(region && { region }) });
    const local = new LocalS3(root, state, s3, await serve(s3));
    await local.send('PUT', '/bucket');
    return local;
  }

  /** Closes the emulator and opens it on the same files and state. */
  async restart(): Promise<void> {
    await this.#endpoint.close();
    await this.#s3.close();
    this.#s3 = openS3({ state: this.#state, dataDir: join(this.root, 'data') });
    this.#endpoint = await serve(this.#s3);
  }

  /** A request whose body the caller writes. */
  open(method: string, path: string, headers: Record<string, string | number> = {}) {
    return request({ host: '127.0.0.1', port: this.#endpoint.port, method, path, headers });
  }

  async send(
    method: string,
    path: string,
    headers: Record<string, string | number> = {},
    body: string | Buffer = '',
  ): Promise<Answer> {
    const outgoing = this.open(method, path, headers);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject).end(body);
    });
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: await text(response),
    };
  }

  /** Every file there is, below the directory above the emulator's own. */
  async files(): Promise<string[]> {
    const entries = await readdir(this.root, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  }

  async stop(): Promise<void> {
    await this.#endpoint.close();
    await this.#s3.close();
    await rm(this.root, { recursive: true, force: true });
  }
}

const serve = (fallback: S3Endpoint) => startAwsEndpoint({ services: [], fallback });
