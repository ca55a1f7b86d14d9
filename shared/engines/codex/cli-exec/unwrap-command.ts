const SHELL_WRAPPER = /^(?:\/\S*\/)?(?:ba|z|da)?sh -l?c (?<script>.+)$/s;

/**
 * The command inside the shell that Codex runs it with: `/bin/bash -lc 'ls -la'` → `ls -la`. Anything that is
 * not exactly a shell and one quoted word stays as it is: showing too much is better than showing half.
 */
export function unwrapCommand(command: string): string {
  const script = SHELL_WRAPPER.exec(command)?.groups?.script;
  return (script === undefined ? undefined : unquoteWord(script)) ?? command;
}

/** The value of one POSIX shell word; `undefined` when the text is more than one word or needs expansion. */
function unquoteWord(text: string): string | undefined {
  let value = '';
  let rest = text;
  while (rest !== '') {
    const piece = SINGLE_QUOTED.exec(rest) ?? DOUBLE_QUOTED.exec(rest) ?? PLAIN.exec(rest);
    if (piece === null) return undefined;
    const { single, double, plain } = piece.groups ?? {};
    value += single ?? double?.replaceAll(/\\([\\"$`])/g, '$1') ?? plain ?? '';
    rest = rest.slice(piece[0].length);
  }
  return value;
}

const SINGLE_QUOTED = /^'(?<single>[^']*)'/;
const DOUBLE_QUOTED = /^"(?<double>(?:[^"\\$`]|\\.)*)"/s;
const PLAIN = /^(?<plain>[A-Za-z0-9_@%+=:,./-]+)/;
