import { CAPABILITIES, type EngineView, tripleName } from '#shared/contracts/index.ts';
import { EXIT } from '../cli-error.ts';
import { plainLine } from '../terminal-text.ts';
import { type CommandContext, connect } from './command-context.ts';

/** Which engines there are, whether they can be used here, and what each can do. */
export async function enginesCommand(context: CommandContext): Promise<number> {
  const client = await connect(context);
  const list = await client.listEngines();
  const { output } = context;
  output.value(list);
  if (output.json) return EXIT.ok;
  if (list.engines.length === 0) output.line('no engines');
  for (const engine of list.engines) showEngine(context, engine);
  if (list.engines.length > 0) showMatrix(context, list.engines);
  return EXIT.ok;
}

function showEngine({ output }: CommandContext, view: EngineView): void {
  const available = view.availability === 'available';
  const symbol = available ? output.paint('green', '✓') : output.paint('red', '✗');
  const notes = [
    plainLine(view.displayName),
    view.isDefaultProtocol ? 'default protocol' : undefined,
    view.status === 'active' ? undefined : view.status,
    `versions ${plainLine(view.supportedVersions)}`,
  ];
  const name = tripleName(view.engine);
  output.line(`${symbol} ${name}  ${output.paint('dim', notes.filter(Boolean).join(' · '))}`);
  for (const reason of view.reasons) output.line(`    ${plainLine(reason, 500)}`);
}

/** Capabilities down, engines across, so that it stays narrow with many capabilities and few engines. */
function showMatrix({ output }: CommandContext, engines: readonly EngineView[]): void {
  const nameWidth = Math.max(...CAPABILITIES.map((name) => name.length));
  const titles = engines.map(({ engine }) => `${engine.engineId}/${engine.protocolId}`);
  output.line();
  output.line(`${' '.repeat(nameWidth)}  ${titles.join('  ')}`);
  for (const capability of CAPABILITIES) {
    const cells = engines.map((view, index) => {
      const [format, symbol] = cellOf(view.declared[capability], view.available[capability]);
      return output.paint(format, symbol) + ' '.repeat((titles[index] ?? '').length - 1);
    });
    output.line(`${capability.padEnd(nameWidth)}  ${cells.join('  ')}`.trimEnd());
  }
  output.line(output.paint('dim', '✓ available   ○ the engine can, not offered here   · no'));
}

function cellOf(declared: boolean, available: boolean) {
  if (available) return ['green', '✓'] as const;
  return declared ? (['yellow', '○'] as const) : (['dim', '·'] as const);
}
