/** Something that invokes a function by itself until it is stopped. */
export interface EventSource {
  /** Takes nothing more and resolves when the invocations under way have ended. */
  stop(): Promise<void>;
}

/** Waits, unless it is woken or stopped before. */
export class Pause {
  #wake: (() => void) | undefined;
  #woken = false;

  async wait(ms: number): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#wake = undefined;
    this.#woken = false;
  }

  /** Ends the wait under way, or else the next one at once: no wake-up is lost. */
  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }
}
