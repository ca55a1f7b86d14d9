import type { AgentEvent, RunView } from '#shared/contracts/index.ts';
import { type ErrorReport, reportOf } from './cli-error.ts';
import type { CliHost } from './cli-host.ts';
import { jsonLine, plainLine, plainText } from './terminal-text.ts';
import { createTimeline, type Timeline } from './timeline.ts';
import { errorLines, type Paint, painter, wantsColor } from './timeline-format.ts';

/**
 * Where a command's words go. Results go to stdout, in the one form or the other; everything else goes to stderr.
 * With `--json`, stdout holds nothing but JSON, one value to a line, and so does stderr.
 */
export class CliOutput {
  readonly json: boolean;
  /** Style for stdout. */
  readonly paint: Paint;
  readonly #host: CliHost;

  constructor(host: CliHost, json: boolean) {
    this.#host = host;
    this.json = json;
    this.paint = painter(!json && wantsColor(host.stdout));
  }

  /** A line for people; left out with `--json`. Text from outside goes through {@link plainLine} first. */
  line(text = ''): void {
    if (!this.json) this.#host.stdout.write(`${text}\n`);
  }

  /** A value for programs; left out without `--json`. */
  value(value: unknown): void {
    if (this.json) this.#host.stdout.write(`${jsonLine(value)}\n`);
  }

  /** Something to know that is not the result. */
  notice(code: string, message: string): void {
    const text = this.json ? jsonLine({ notice: { code, message } }) : plainText(message);
    this.#host.stderr.write(`${text}\n`);
  }

  error(error: unknown): void {
    const report = reportOf(error);
    const text = this.json ? jsonLine({ error: report }) : this.#errorText(report);
    this.#host.stderr.write(`${text}\n`);
  }

  /** Shows a run's events as they come: a timeline, or each event as it is. */
  timeline(startedAtMs?: number): Timeline {
    if (this.json) {
      return {
        event: (event: AgentEvent) => this.value(event),
        finish: (_run: RunView) => undefined,
      };
    }
    return createTimeline({
      write: (line) => this.line(line),
      color: wantsColor(this.#host.stdout),
      ...(startedAtMs === undefined ? {} : { startedAtMs }),
    });
  }

  #errorText(report: ErrorReport): string {
    const paint = painter(wantsColor(this.#host.stderr));
    const [first = '', ...rest] = errorLines(report);
    const lines = [`${paint('red', 'error')}: ${first}`, ...rest.map((line) => `  ${line}`)];
    if (report.requestId) lines.push(`  request ${plainLine(report.requestId)}`);
    return lines.join('\n');
  }
}
