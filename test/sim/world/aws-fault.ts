/** An error as an SDK client throws it, without the client: handlers look at `name`, `message` and `$metadata`. */
export function awsFault(name: string, message: string, httpStatusCode = 400): Error {
  return Object.assign(new Error(message), {
    name,
    $fault: httpStatusCode >= 500 ? 'server' : 'client',
    $metadata: { httpStatusCode, attempts: 3, requestId: 'simulated' },
  });
}

/** A client of the SDK, as far as the adapters use it: they only send commands. */
export interface CommandSender {
  send(command: { input: object; constructor: { name: string } }): Promise<object>;
}

/** Hands a sender to an adapter that asks for the SDK's client. */
export function asClient<Client>(sender: CommandSender): Client {
  return sender as unknown as Client;
}

/** `PutItemCommand` → `PutItem`. */
export function operationOf(command: { constructor: { name: string } }): string {
  return command.constructor.name.replace(/Command$/, '');
}
