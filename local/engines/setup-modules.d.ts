/** Types of the plain JavaScript that must also run before anything is installed. */
declare module '#local/setup/install-lock.mjs' {
  export function withInstallLock<T>(
    path: string,
    options: {
      onWait: (holder: string) => void;
      work: (holdFor: (pid: number) => void) => Promise<T>;
    },
  ): Promise<T>;
}

declare module '#local/setup/installed-tree.mjs' {
  export function reasonToInstall(root: string): string | undefined;
  export function forgetInstallation(root: string): void;
}

declare module '#local/setup/npm-install.mjs' {
  export class SetupError extends Error {}
  export function npmInstall(root: string, onStart: (pid: number) => void): Promise<void>;
}
