import { Command, CommanderError } from 'commander';
import { EXIT, exitCodeOf } from './cli-error.ts';
import type { CliHost } from './cli-host.ts';
import { CliOutput } from './cli-output.ts';
import { type CancelOptions, cancelCommand } from './commands/cancel-command.ts';
import type { CommandContext } from './commands/command-context.ts';
import { doctorCommand } from './commands/doctor-command.ts';
import { enginesCommand } from './commands/engines-command.ts';
import { tailCommand } from './commands/follow-commands.ts';
import { runsCommand, showCommand } from './commands/list-commands.ts';
import { type RunOptions, runCommand } from './commands/run-command.ts';
import { type UsageOptions, usageCommand } from './commands/usage-command.ts';

const EXIT_CODES_HELP = `
Exit codes: 0 completed or done, 1 failed, 2 cancelled, 3 timed out, 4 budget exhausted,
64 wrong usage or request, 69 API unavailable, 70 internal fault, 77 not authorised, 130 Ctrl-C.
The API is found by NEXUSDESK_URL and NEXUSDESK_TOKEN, or by .nexusdesk/connection.json here or above.`;

/** Runs one command line (without node and script) and says with which code the process should exit. Never throws. */
export async function runCli(args: readonly string[], host: CliHost): Promise<number> {
  const output = new CliOutput(host, asksForJson(args));
  try {
    return await dispatch(args, { host, output });
  } catch (error) {
    const code = exitCodeOf(error);
    // Help that was asked for has been shown; help instead of a command is an error that speaks for itself.
    const shown = error instanceof CommanderError && (code === EXIT.ok || isBareHelp(error));
    if (!shown || (output.json && code !== EXIT.ok)) output.error(error);
    return code;
  }
}

async function dispatch(args: readonly string[], context: CommandContext): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = buildProgram(context, async (command) => {
    exitCode = await command;
  });
  await program.parseAsync([...args], { from: 'user' });
  return exitCode;
}

/** Known before parsing, since a wrong command line must be reported in the right form too. */
function asksForJson(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end === -1 ? args.length : end).includes('--json');
}

function isBareHelp(error: CommanderError): boolean {
  return error.code === 'commander.help';
}

function buildProgram(
  context: CommandContext,
  settle: (exitCode: Promise<number>) => Promise<void>,
): Command {
  const { host, output } = context;
  const program = new Command('nexusdesk')
    .description('Run AI agents on NexusDesk and follow them')
    .option('--json', 'print JSON, one value to a line, and nothing else')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: (text) => {
        if (!output.json) host.stderr.write(text);
      },
      // Errors are shown by runCli, in the form that was asked for.
      outputError: () => undefined,
    })
    .addHelpText('after', EXIT_CODES_HELP);

  program
    .command('run')
    .description('start a run and follow it to its end')
    .argument('[prompt...]', 'what the agent is to do; - reads it from stdin')
    .option('-e, --engine <id>', 'engine (`nexusdesk engines` lists them); left out: the only one')
    .option('-p, --protocol <id>', "protocol; left out: the engine's default")
    .option('-f, --file <path>', 'read the prompt from a file')
    .option('--config <json>', "the engine's configuration, a JSON object")
    .option('--set <key=value>', 'one value of it; may be repeated', collect, [])
    .option('--timeout <duration>', 'longest time from acceptance to the end: 90s, 10m, 2h')
    .option('--idempotency-key <key>', 'the same key and request never start a second run')
    .option('-d, --detach', 'start it and return at once')
    .action((words: string[], options: RunOptions) => settle(runCommand(context, words, options)));
  program
    .command('tail')
    .description('follow a run, or read one that has ended, and exit as the run did')
    .argument('<runId>')
    .option('--cursor <cursor>', 'read behind this place')
    .action((id: string, options: { cursor?: string }) =>
      settle(tailCommand(context, id, options)),
    );
  program
    .command('cancel')
    .description('ask for the cancellation of a run, or of all that have not ended')
    .argument('[runId]')
    .option('--all', 'every run of the tenant that has not ended')
    .option('--agent <id>', 'with --all: only the runs of this agent')
    .option('--reason <text>', 'shown in the events of the run')
    .option('--wait', 'stay until it has ended; of one run, exit as the run did')
    .action((id: string | undefined, options: CancelOptions) =>
      settle(cancelCommand(context, id, options)),
    );
  program
    .command('runs')
    .description('list runs, newest first')
    .option('--status <statuses>', 'only those in one of these, with commas; `live`: not ended')
    .option('--limit <count>', 'how many', '20')
    .action((options: { status?: string; limit: string }) => settle(runsCommand(context, options)));
  program
    .command('show')
    .description('show one run and its result')
    .argument('<runId>')
    .action((id: string) => settle(showCommand(context, id)));
  program
    .command('engines')
    .description('list the engines and what each can do')
    .action(() => settle(enginesCommand(context)));
  program
    .command('usage')
    .description('show what was used, by day or by agent')
    .option('--from <day>', 'first day, as 2026-11-01; left out: 30 days back')
    .option('--to <day>', 'last day; left out: today (UTC)')
    .option('--by <what>', 'day or agent', 'day')
    .action((options: UsageOptions) => settle(usageCommand(context, options)));
  program
    .command('doctor')
    .description('check everything between here and a run, with remedies')
    .action(() => settle(doctorCommand(context)));
  return program;
}

function collect(value: string, before: readonly string[]): string[] {
  return [...before, value];
}
