/** A path of the API: literal segments, `{name}` for one segment, `{name+}` at the end for all that is left. */
export interface RoutePath {
  /** Upper case, or `ANY`. */
  readonly method: string;
  readonly path: string;
}

export type RouteMatch<R> =
  | {
      readonly kind: 'route';
      readonly route: R;
      readonly pathParameters: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'no_path' }
  | { readonly kind: 'no_method'; readonly allowed: readonly string[] }
  /** A segment is not valid percent-encoding. */
  | { readonly kind: 'bad_encoding' };

type Segment =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'one' | 'rest'; readonly name: string };

/**
 * Finds the route of a request as API Gateway does: the more literal path wins, segment by segment from the left,
 * and a method beats `ANY`.
 */
export class RouteTable<R extends RoutePath> {
  readonly #routes: readonly { route: R; segments: readonly Segment[] }[];

  /** @throws Error when two routes are the same */
  constructor(routes: readonly R[]) {
    const seen = new Set<string>();
    for (const { method, path } of routes) {
      const shape = `${method} ${path.replace(/\{[^}+]*/g, '{')}`;
      if (seen.has(shape)) throw new Error(`two routes for ${method} ${path}`);
      seen.add(shape);
    }
    this.#routes = routes
      .map((route) => ({ route, segments: split(route.path).map(toSegment) }))
      .sort((a, b) => compare(a.segments, b.segments));
  }

  /** `path` is the raw path of the URL, still percent-encoded. */
  find(method: string, path: string): RouteMatch<R> {
    const parts = split(path);
    const fitting = this.#routes.filter(({ segments }) => fits(segments, parts));
    const [best] = fitting;
    if (!best) return { kind: 'no_path' };
    // Only routes of the best path count: its methods are the resource's methods.
    const onBest = fitting.filter(({ segments }) => compare(segments, best.segments) === 0);
    const chosen =
      onBest.find(({ route }) => route.method === method) ??
      onBest.find(({ route }) => route.method === 'ANY');
    if (!chosen) return { kind: 'no_method', allowed: onBest.map(({ route }) => route.method) };
    try {
      const pathParameters = parametersOf(chosen.segments, parts);
      return { kind: 'route', route: chosen.route, pathParameters };
    } catch {
      return { kind: 'bad_encoding' };
    }
  }
}

const split = (path: string): string[] => path.split('/').slice(1);

function toSegment(text: string): Segment {
  const name = /^\{([^}]+?)(\+?)\}$/.exec(text);
  if (!name?.[1]) return { kind: 'literal', text };
  return { kind: name[2] ? 'rest' : 'one', name: name[1] };
}

function fits(segments: readonly Segment[], parts: readonly string[]): boolean {
  const open = segments.at(-1)?.kind === 'rest';
  if (open ? parts.length < segments.length : parts.length !== segments.length) return false;
  return segments.every((segment, index) => {
    const part = parts[index] ?? '';
    // Literals of the API need no encoding, but a client may encode them.
    if (segment.kind === 'literal') return segment.text === part || segment.text === decoded(part);
    return part !== '';
  });
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

const RANK = { literal: 0, one: 1, rest: 2 } as const;

function compare(a: readonly Segment[], b: readonly Segment[]): number {
  for (let index = 0; index < Math.max(a.length, b.length); index += 1) {
    const [left, right] = [a[index], b[index]];
    if (!left || !right) return left ? 1 : -1;
    if (left.kind !== right.kind) return RANK[left.kind] - RANK[right.kind];
    if (left.kind === 'literal' && right.kind === 'literal' && left.text !== right.text) {
      return left.text < right.text ? -1 : 1;
    }
  }
  return 0;
}

function parametersOf(
  segments: readonly Segment[],
  parts: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    segments.flatMap((segment, index) => {
      if (segment.kind === 'literal') return [];
      const text = segment.kind === 'rest' ? parts.slice(index).join('/') : (parts[index] ?? '');
      return [[segment.name, decodeURIComponent(text)]];
    }),
  );
}
