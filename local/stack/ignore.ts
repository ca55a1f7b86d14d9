/** For `catch`: lets one expected error pass, and no other. */
export function ignore(expected: abstract new (...args: never[]) => Error) {
  return (error: unknown): void => {
    if (!(error instanceof expected)) throw error;
  };
}
