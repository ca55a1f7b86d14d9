/**
 * Who may import whom. test/rules/boundaries.test.ts holds one deliberate violation per rule and
 * proves that each is caught: a rule that stopped matching would otherwise stay green for ever.
 */

/** Folders of shared/, lowest first. A tier sees only the tiers before it. */
const TIERS = [
  ['kit'],
  ['contracts'],
  ['table', 'observability', 'topology'],
  [
    'runs',
    'sessions',
    'approvals',
    'blobs',
    'usage',
    'quotas',
    'audit',
    'agents',
    'credentials',
    'workspace',
    'instructions',
    'capabilities',
    'policy',
    'process',
    'masking',
    'auth',
  ],
  ['kernel'],
  ['engines'],
  ['runtime', 'orchestrator'],
];

const anyOf = (names) => `(${names.join('|')})`;
const inShared = (names) => `^shared/${anyOf(names)}/`;

const SUBSYSTEMS = TIERS[3];
/** Folders whose every file is public, because they hold one small thing per file. */
const OPEN_FOLDERS = inShared(['contracts', 'kit', 'observability', 'table', 'topology']);
const INDEX = '/index\\.ts$';
/** A file named after a technology is the adapter of a port, or the stored form of one entity. */
const TECHNOLOGY = '/(memory|dynamo|sqs|s3|ecs|secrets|eventbridge)-[^/]+\\.ts$';
/** Stored form of an entity: shared by the stores that write it in one transaction. */
const DYNAMO_ITEM = '/dynamo-[^/]+-item\\.ts$';
/** Composition roots: the only files that choose adapters and read the environment. */
const ROOTS = ['^functions/.+/index\\.ts$', '^containers/.+/(main|composition)\\.ts$', '^local/'];
/** A technology file of functions/kit does for all roots what each would repeat. */
const ADAPTER_PICKERS = [...ROOTS, `^functions/kit${TECHNOLOGY}`];
const ENGINE_ADAPTERS = '^shared/engines/(adapters|.+/adapter)\\.ts$';
const AWS_SDK = '(^|/)node_modules/@(aws-sdk|smithy)/';
const ZOD = '(^|/)node_modules/zod/';

const DEPLOYABLES = ['functions', 'containers', 'cdk', 'local', 'client'];
const PRODUCT = `^${anyOf(['shared', ...DEPLOYABLES])}/`;
const WITHOUT_ROOT_RIGHTS = '^(shared|functions|containers|client|cdk)/';

const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    rule('no-cycles', 'Split the shared part out downward.', {}, { circular: true }),
    rule('no-unresolved', 'Typo or missing dependency.', {}, { couldNotResolve: true }),

    // --- between top folders ------------------------------------------------------------------
    rule(
      'shared-is-the-bottom',
      'shared/ knows nothing that is deployed from it.',
      { path: '^shared/' },
      { path: `^${anyOf(DEPLOYABLES)}/` },
    ),
    rule(
      'deployables-do-not-meet',
      'Move what both need into shared/. Only local/ starts the entry points of others.',
      { path: '^(functions|containers|cdk|client)/' },
      { path: `^${anyOf(DEPLOYABLES)}/`, pathNot: '^$1/' },
    ),
    rule(
      'local-starts-entry-points',
      'The local stack runs what is deployed: a Lambda through its index.ts, a container, nothing else.',
      { path: '^local/' },
      { path: '^(functions|cdk)/', pathNot: '^functions/.+/index\\.ts$' },
    ),
    rule(
      'only-the-demo-is-a-client',
      'The local stack serves clients; its demo run is one.',
      { path: '^local/', pathNot: '/demo\\.ts$' },
      { path: '^client/' },
    ),
    rule(
      'functions-do-not-meet',
      'One Lambda never imports another; what they share is in functions/kit or shared/.',
      { path: '^functions/(?!kit/)([^/]+/[^/]+)/' },
      { path: '^functions/', pathNot: ['^functions/kit/', '^functions/$1/'] },
    ),
    rule(
      'function-kit-is-below',
      'What all Lambdas use knows none of them.',
      { path: '^functions/kit/' },
      { path: '^functions/', pathNot: '^functions/kit/' },
    ),
    rule(
      'product-never-imports-tests',
      'Test code is not shipped.',
      { path: PRODUCT },
      { path: '^(test|bench)/' },
    ),
    rule(
      'client-sees-contracts',
      'The client and the CLI know the API, not the platform.',
      { path: '^client/' },
      { path: '^shared/', pathNot: inShared(['contracts', 'kit']) },
    ),
    rule(
      'cdk-sees-topology',
      'Infrastructure is derived from the catalogue of functions and routes.',
      { path: '^cdk/' },
      { path: '^shared/', pathNot: inShared(['topology', 'contracts', 'kit']) },
    ),

    // --- tiers of shared/ ---------------------------------------------------------------------
    rule(
      'shared-folders-have-a-tier',
      'Add the new folder to TIERS in .dependency-cruiser.cjs.',
      {},
      { path: '^shared/', pathNot: inShared(TIERS.flat()) },
    ),
    ...TIERS.slice(0, -1).map((tier, index) =>
      rule(
        `imports-point-down-${index}`,
        'A lower tier never imports a higher one.',
        { path: inShared(tier) },
        { path: inShared(TIERS.slice(index + 1).flat()) },
      ),
    ),
    rule(
      'subsystems-do-not-meet',
      'Only orchestrator and runtime join subsystems; stores may share a transaction.',
      { path: inShared(SUBSYSTEMS), pathNot: TECHNOLOGY },
      { path: inShared(SUBSYSTEMS), pathNot: '^shared/$1/' },
    ),
    rule(
      'top-tier-does-not-meet',
      'The runtime runs in a container, the orchestrator in Lambdas: they meet over the host protocol.',
      { path: inShared(TIERS.at(-1)) },
      { path: inShared(TIERS.at(-1)), pathNot: '^shared/$1/' },
    ),
    rule(
      'contracts-need-only-zod',
      'Contracts stay importable everywhere, a browser included.',
      { path: '^shared/contracts/' },
      { pathNot: [inShared(['contracts', 'kit']), ZOD] },
    ),
    rule(
      'topology-is-plain-data',
      'The catalogue is read by Lambdas, CDK and the local stack alike.',
      { path: '^shared/topology/' },
      { pathNot: inShared(['topology', 'contracts', 'kit']) },
    ),
    rule(
      'decisions-are-pure',
      'Policy and capabilities take data and return data.',
      { path: inShared(['capabilities', 'policy']), pathNot: TECHNOLOGY },
      { pathNot: [inShared(['capabilities', 'policy', 'contracts', 'kit']), ZOD] },
    ),
    rule(
      'kernel-knows-no-product',
      'The kernel gets its packs and its model clients handed in.',
      { path: '^shared/kernel/', pathNot: '^shared/kernel/(tools/)?packs/' },
      { path: ['^shared/kernel/(tools/)?packs/', AWS_SDK, '^shared/table/'] },
    ),
    rule(
      'engines-do-not-meet',
      'An engine folder stands alone, so that it can be added and removed alone.',
      { path: '^shared/engines/([^/]+)/' },
      { path: '^shared/engines/[^/]+/', pathNot: '^shared/engines/$1/' },
    ),

    // --- doors into the folders of shared/ ----------------------------------------------------
    rule(
      'front-door-only',
      'Import a folder of shared/ through its index.ts.',
      { path: '^shared/([^/]+)/', pathNot: TECHNOLOGY },
      {
        path: '^shared/[^/]+/',
        pathNot: ['^shared/$1/', INDEX, OPEN_FOLDERS, '^shared/engines/catalogue\\.ts$'],
      },
    ),
    rule(
      'front-door-only-for-technology-files',
      'Beside the front doors a store may use the stored form of an entity it writes with its own.',
      { path: '^shared/([^/]+)/.*(memory|dynamo|sqs|s3|ecs|secrets|eventbridge)-[^/]+\\.ts$' },
      { path: '^shared/[^/]+/', pathNot: ['^shared/$1/', INDEX, OPEN_FOLDERS, DYNAMO_ITEM] },
    ),
    rule(
      'front-door-only-for-deployables',
      'Import a folder of shared/ through its index.ts.',
      { path: `^${anyOf(DEPLOYABLES)}/`, pathNot: ADAPTER_PICKERS },
      {
        path: '^shared/[^/]+/',
        pathNot: [INDEX, OPEN_FOLDERS, '^shared/engines/catalogue\\.ts$'],
      },
    ),
    rule(
      'front-door-only-for-roots',
      'Beside the front doors a root may pick adapters: technology files and engine adapters.',
      { path: ADAPTER_PICKERS },
      {
        path: '^shared/[^/]+/',
        pathNot: [
          INDEX,
          OPEN_FOLDERS,
          TECHNOLOGY,
          ENGINE_ADAPTERS,
          '^shared/engines/catalogue\\.ts$',
        ],
      },
    ),
    rule(
      'technology-files-only-from-roots',
      'Depend on the port; the composition root picks the adapter.',
      { path: WITHOUT_ROOT_RIGHTS, pathNot: [...ROOTS, TECHNOLOGY] },
      { path: `^(shared|functions)/.+${TECHNOLOGY}` },
    ),
    rule(
      'table-only-from-technology-files',
      'How state is stored is known to the stores and to the roots that open the table.',
      { path: WITHOUT_ROOT_RIGHTS, pathNot: [...ROOTS, TECHNOLOGY, '^shared/table/'] },
      { path: '^shared/table/' },
    ),

    // --- packages -----------------------------------------------------------------------------
    rule(
      'aws-sdk-only-in-technology-files',
      'Name the file after its technology.',
      { path: WITHOUT_ROOT_RIGHTS, pathNot: [...ROOTS, TECHNOLOGY, '^shared/table/'] },
      { path: AWS_SDK },
    ),
    rule(
      'one-place-spawns',
      'A process that nobody supervises outlives its run: start it through shared/process.',
      // An engine program is what is supervised; what it starts is inside its sandbox.
      {
        path: PRODUCT,
        pathNot: ['^shared/process/', '^local/', '^containers/[^/]+/engine\\.mjs$'],
      },
      { path: '^(node:)?child_process$' },
    ),
    rule(
      'no-dev-dependencies-in-product',
      'It would be missing where the code runs.',
      { path: '^(shared|functions|containers|client|local)/' },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),

    // --- whatever the path in between ---------------------------------------------------------
    rule(
      'lambdas-never-run-engines',
      'Lambdas know engine descriptors; engines run in containers.',
      { path: '^functions/' },
      { path: ['^shared/(runtime|process|kernel)/', ENGINE_ADAPTERS], reachable: true },
    ),
  ],
  options: {
    // Type-only imports are dependencies too: the direction of knowledge is what the rules are about.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    preserveSymlinks: true,
    doNotFollow: { path: '(^|/)node_modules/' },
    exclude: { path: '^(cdk\\.out|\\.nexusdesk|coverage|test/fixtures|bench/first-run/peers)/' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.js', '.json', '.d.ts'],
      mainFields: ['module', 'main', 'types'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
