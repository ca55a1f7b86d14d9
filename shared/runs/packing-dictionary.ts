/**
 * What the pages of a log have in common: words of English and of software, the turns of an agent that reports on its
 * work, the names of events and fields. A compressor that has read it before a page begins can point into it. Later is
 * nearer, so what is common comes last.
 *
 * Never changed: pages that were written with it are read with it. Another one gets another version in `packed-json.ts`.
 */
const WORDS = `
news documented situations separately triple timed wire focus iterate synthesized programming
yield Browser newline catalogue breaking things Request benchmarks gets Synchronous cancellation
Divergence destructive beginning us monotonic produces comment Troubleshooting treated factor
Infinity folders Stream released ordered password forget distribution risk stopping additionally
south leading addition Contents wildcard launched wear speed Capability exceeded independent scene
escape identical implement ability prerelease meaning Optional normalized formatting questions
notice unexpected moved negative components matched making Entries generic welcome concat
framework texts iterators agency verbose financial plant refusal column Condition specifier route
published scheduled serious resolving Timeout latest installation fill modified consume separated
synthesize colors benefit ignores deploy wall tried converted thought pipeline management emulator
Development integration road thrown checksums town machine represents sourcemap physical encodings
debugging Promises hidden mappings hope flags greater executed github authorizer trace comparator
pressure Useful load star purpose fully site hooks Project counted overwritten Import differences
emitted Developer Every regardless becomes validate aggregated checked central Dependencies
maintenance Contribution higher Code everybody extend Instantiate quality Objects recognize
subarray drop precedence declarations correctly gives visible claimed taking bench permissions
spawn programs depending executable media reply consumer exclude lists attached partial said
particular Installing myself define inner operand copy Each beyond core enter respond optionally
nature dispatch disabled omitted away reset assertion Records globally Everything regex decoded
sequences byte Guide header acknowledged fetch ticket schedule we positions availability shown
representing Using zero supplied contract Windows logger switch television replaced north movie
reverse manifest unterminated Name codes Commands detected shard element expired Milliseconds
reasons applies production gone search malformed retry commit decode serialized spec deliver
deprecated meta shows candidate excluded subsequent destination encoded deterministic Check
repository protect creating port applied stops trailing love teach equals explicit phone
considered although repeatable easy launcher court sources looks identify care relevant Where
experimental foot deadline Value fault Return topology With convenience despite Features pick
might told detect writing updating synchronously series Amazon waits component except summer These
chunks analysis utility suite reports real docs indexes energy Create detection bundle Messages
survivors tags timing prepared contributions modifications readable coverage Only absent direct
Benchmarks anyone Coverage cache Source officer general invoke respectively across authority pages
specifying display configure identifiers face stays quite environmental treatment mind combined
trigger paper internally exception nearly lifecycle generator distributed rate Resource four
mkdtemp Boolean testing article flag Otherwise translator patch publish door Custom faster defense
times designed link chance stdin concern Copyright agree abort There libraries plan registry game
cover sent foreign piece streaming creates http digest scripts Functions movement providers
comments author period words random callbacks idea medical price book economy providing queues
natural exist hour signature holds underlying Whether contributors thank area earlier note clients
processing tenant tells successfully further identifier samples append ranges indicate husband
voice fall major kept However finish refuses progress literal deleted drive city heart fast
imports Type convert filesystem Additional standalone yourself unit Alternatively killed cost
fixture Downloads blank involve badge document tables params disable deployment strict services
shell setting offset repeated Logger realize classes integer share Defaults present street brother
corresponding targets namespace reached answered billion culture forward warning goes apply
snapshot recommend infer team sampled scripted maximum immediately Performance century various
third reading tmpdir Supported death implemented half capability bash exec late separator music
choice compile fact algorithm Configuration invocation help timers projects encode structure comes
budget alone figure hand able whitespace updated works quickly ground starts Uint nobody amount
fail season equal returning couple replacement deployed associated caller reported fallback show
functionality doctor light enable least cases accepts needs floor address remaining keeps filename
Client leaves cluster extension session alternative recent atomically thousand lead transform
ready save users gateway perform player approach particularly east pull mapping spend comparison
reject stage party statements calling material needed raise requires Lambda plugins issues built
certainly unavailable sense patient checks seen wanted police lambda applications Message buffer
hundred year defined implementations working separate regular reader room received override speak
future binary maybe role timestamp destroy up product plain house currently family usually matter
variables mode absolute closed study cancel clear Build reads compatible account money worker
rules several execute necessary implements remedy actions offer contribute leader resolution
plugin listed tool args were added claim Operations nation likely less operator authorization
subject please width fails Item market generate patterns society previous water final ends
Resolves identity sort reduce location parts satisfies named choose feature pass personal
instructions nested toward limits computer extra definition determine make manager Please great
template bucket problem validation system specify synchronous story unless picture Note counts our
aborted consistent makes course abstract increase embedded passing give register month window
power population develop view done main represent writes office high industry difficult tsconfig
activity resolves allows described human later effort attribute do seconds tools removed accept
American useful parsing cancelled resolved everyone references Input remain step examples follows
declared explain changed kill configured defaults watch batch attention early exists provider free
enabled Partial Status none social asynchronous sure starting side numbers person someone reach
director attempts timer Function father Version lines friend college perhaps syntax word wrong
common launch uses much handling strong individual Support home effective schema conditions good
ignore storage parser rest Table directories school expressions tasks statement chunk network
think protocol style ending encoding serve come empty overrides rule form compare longer section
variable Output ignored says handle decide Environment contain tree matches teacher appear
extensions exported practice herself simple exit recommended above prototype align taken access
morning short color base based locations transaction private way license dynamodb suggest listen
letter assert timeout himself completed technology failures paths Date settings prefix adapter
know results situation accepted secret waiting Attributes root means simply title tests runtime
iterator deps child language scope terminal produce asked rather find otherwise explicitly
relative user Options interest health detail certain browsers world so better exactly space valid
fields how Math evidence break provide since features success secrets query expression here
official When provides connection moment global similar prompt outside inside full even included
effect enough errors matching items force original building research case significant internal
native member allow containers Parameters organization security custom release stored store
descriptor large just streams special known else equivalent history credential probably containing
two match look Default action container allowed point whatever around remove until throws repeat
especially education issue complete recursive stdout server processes business environments wait
stderr split milliseconds range content take strings exports resource long stopped calls existing
delete remember Install been cursor both takes see epoch replace policy Command folder created
well decision installed according update stack resources Description started invalid made
reference want below open payload capabilities library include definitions answers back during
execution metadata promise own experience continue public out format typescript sequence ledger
many Reference people specification sandbox extends additional no something follow task most What
pattern tokens required consider right prepare records description browser actually left directly
whose packages commands parsed multiple item dynamo international group slice Example possible
behind passed check called such instanceof need next page rejects application compatibility single
expected Documentation parent difference types ended whole engines host understand part refused
specific condition being report memory entry push stop written different requests count contains
control script size instance center Returns attributes could either others character model
parameter receive list those versions generated head cannot token headers together returned
Readonly objects supports image provided given modules over however handler Node close cause
finally methods at keys standard operations queue place javascript credentials by parameters
behavior failed json into array position missing usage Usage messages dependency work option last
clock arguments write under once like field build small running callback must program region
target specified characters data files whether failure these on documentation anything changes
call some now dependencies platform every endpoint limit body node always Array about any summary
community property send level be names an itself they or within supported bytes automatically them
order time service runs used was against Number development read config would database License
already also operation does argument instead line use never their null implementation method
signal current using then class second you while performance than module join attempt again Buffer
there kind Error your includes catch because where configuration String context still found
outcome Record local start following returns typeof through response test entries same all parse
functions including directory project This answer engine contracts path optional have has details
as if in Object filter more should change record file create state each between everything can
input void stream values properties resolve table available will text constructor other to one
command it reason only output result its another package code what are events support stringify
after nothing event example install throw environment source information which is of false console
require default shared first boolean client when status object length before new not describe true
request index unknown value version without message process for Promise this name error async
options and with interface expect that type await number export the from undefined readonly return
string import function const
`;

const TURNS = `
I'll start by looking at the I'll check whether I need to Let me check the Let me look at the Let me run the tests
Now I'll update the Now let me Next, I'll The tests pass. All tests pass. The build succeeds. I've added a I've updated
the It looks like the This means that In order to For example, Here's the Here is a summary of the changes: However,
Because of this, as well as the In addition, there are there is a is not of the in the to the on the and the for the
that the with the from the by the at the is a in a to be does not should be can be will be has been have been so that
**Summary** ### Changes
## Next steps
\`\`\`ts
\`\`\`bash
\`\`\`json
const await async function return import { } from export interface readonly string number boolean undefined => {
  if ( ) return; for (const of  expect( ).toBe( describe(' it(' error: Error: npm run test git diff git status
`;

const RECORDS = [
  '"capabilities":{"declared":{"streaming":true,"persistent_session":false,"session_resume":false,"cancellation":true,',
  '"human_approval":false,"interactive_input":false,"tool_calling":true,"file_operations":true,"terminal_execution":true,',
  '"native_events":true,"workspace_required":false},"available":{"effective":{"refusals":[{"capability":"layer":"rule":',
  '"reason":"policyVersion":"builtin-1","credentialNames":["bodyHash":"accepted":{"engine":{"engineId":"',
  '"protocolId":"native","adapterVersion":"v1"},"agentId":"conversationId":"maxAttempts":3,"repeatable":false,',
  '"deadlineAt":"createdAt":"dueAt":"specification":{"input":{"prompt":"config":{"budget":{},"denied":[]}',
  '"status":"failed","error":{"class":"EngineUnavailable","code":"message":"sideEffects":"none","sideEffects":"maybe",',
  '"result":{"schemaVersion":"1","status":"completed","output":"artifacts":[],"usage":{"inputTokens":"cachedInputTokens":',
  '"outputTokens":"reasoningTokens":"modelCalls":"toolCalls":"costUsd":"metadata":{}},"evidence":{"lateResult":',
  '"eventType":"run.queued","eventType":"run.started","sandbox":"attempt":1,"eventType":"run.completed",',
  '"eventType":"execution.diagnostic","kind":"engine_notice","kind":"stderr","raw":"truncatedBytes":',
  '"eventType":"engine.session.started","nativeSessionId":"engineVersion":"eventType":"usage.updated",',
  '"eventType":"tool.started","source":"platform","family":"domain","payload":{"toolCallId":"item_","kind":"command",',
  '"kind":"file_change","name":"shell","summary":"/bin/bash -lc ","input":{"command":"exitCode":0,"output":"changes":[{"path":',
  '"eventType":"tool.completed","status":"completed","eventType":"message.completed","role":"assistant","text":"',
  '"source":"engine_native","family":"execution","engineSessionId":null,"payload":{"type":"item.completed","item":{"id":"item_',
  '[{"eventType":"message.delta","source":"platform","family":"presentation","timestamp":"2026-12-01T00:00:00.000Z",',
  '"engineSessionId":"019","payload":{"messageId":"item_1"}},[16,17,16,17],[4,5,3,6,4,5,7],"',
].join('');

export const PACKING_DICTIONARY: Uint8Array = Buffer.from(
  WORDS.replaceAll('\n', ' ') + TURNS + RECORDS,
);
