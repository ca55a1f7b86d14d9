interface Message {
  readonly id: string;
  readonly type: string;
  readonly text: string;
}

/**
 * Knows messages that Codex prints again. When a stream breaks, the whole request is repeated, and what the model
 * had said before the break comes out once more under new ids. Tool calls are not repeated that way: a command
 * that is printed twice ran twice.
 */
export class RepeatedMessages {
  readonly #printed = new Set<string>();
  /** Said in the request that is being answered. */
  #current: string[] = [];
  /** Said in earlier tries of that request, and not yet again. */
  #expected: string[] = [];

  /** A tool ran or the turn ended: the request was answered, and the next one is another. */
  onActivity(): void {
    this.#current = [];
    this.#expected = [];
  }

  onRetry(): void {
    // Each try begins from the start of the answer, so only the longest list is still to come.
    if (this.#current.length > 0) this.#expected = this.#current;
    this.#current = [];
  }

  isRepeat(message: Message): boolean {
    const content = `${message.type}\n${message.text}`;
    const record = `${message.id}\n${content}`;
    if (this.#printed.has(record)) return true;
    this.#printed.add(record);
    this.#current.push(content);
    const index = this.#expected.indexOf(content);
    if (index < 0) return false;
    this.#expected.splice(index, 1);
    return true;
  }
}
