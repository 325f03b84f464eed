export interface Weakness {
  no: number
  /** What goes wrong elsewhere. */
  weak: string
  /** What happens here, or why it cannot. */
  ours: string
  /** Tests that show it: a file below `test/`, and how a title in it begins, as it stands there. */
  proofs: { file: string; title: string }[]
}

/** A proof is `file: title`; a file without a folder is a test of behaviour. */
const w = (no: number, weak: string, ours: string, ...proofs: string[]): Weakness => ({
  no,
  weak,
  ours,
  proofs: proofs.map(proof => {
    const [file, title] = proof.split(/: (.*)/) as [string, string]
    return { file: file.includes('/') ? file : `behaviour/${file}.test.ts`, title }
  }),
})

/* biome-ignore-start lint/suspicious/noTemplateCurlyInString: titles as they stand in the source */
/** Faults that servers of this kind are known for. */
export const WEAKNESSES: readonly Weakness[] = [
  // Slow starts, and polling.
  w(
    1,
    'a start polls for its sandbox, up to a wall',
    'it waits for the sandbox itself, and fails with the reason of that',
    'weaknesses: W-1 a sandbox that cannot start ends the start at once, with its exit code and last words',
    'sandboxes: says within two seconds how its command ended and what it printed last',
  ),
  w(
    2,
    'a stale status decides',
    'each step looks anew: a paused sandbox that is ordered is woken and used',
    'weaknesses: W-2 a paused sandbox that is named in an order is resumed for it',
  ),
  w(
    3,
    'where a sandbox can be reached is guessed',
    'all of them are reached under the one address that the caller used',
    'weaknesses: W-3 addresses are those under which the server was asked, and lead there',
  ),
  w(
    4,
    'a single failed probe makes an error of a sandbox',
    'nothing is probed: a sandbox is as its first process is',
    'lifecycle: why it ended is written down once, of one that should run and has run',
    'lifecycle: every status but that of a sandbox on its way out can be left by resuming',
  ),
  w(
    5,
    'images are pulled within a request',
    'a pull is a part of the start, and tells how far it is',
    'contract/sandbox-docker.test.ts: a pull tells how far it has come, and asks for one tag in a version it knows',
    'settings-effects: an image that cannot be had fails the start by name',
  ),
  w(
    6,
    'one slow call to the engine holds everybody up',
    'nobody waits in place: the engine is spoken to over a socket',
    'contract/sandbox-docker.test.ts: an engine that goes away in the midst of an answer is told as one that does not answer',
  ),
  w(
    7,
    'a list asks every sandbox',
    'what is listed is known already; nobody is asked, or woken',
    'weaknesses: W-7 lists ask no sandbox: one that is paused is listed as that, and stays so',
  ),
  w(
    8,
    'clients have to poll',
    'a start can be followed, as a growing array or as events',
    'app-conversations: the statuses come in order, streamed as a growing array and as events, and both end by themselves',
  ),
  w(
    9,
    'preparing takes long, unseen, and in part twice',
    'a step says what came of it; what has no need to be ready first is left to the conversation',
    'app-conversations: the statuses come in order, streamed as a growing array and as events, and both end by themselves',
    'app-conversations: each failure ends the start with a reason a person understands, and nothing is left behind',
  ),
  w(10, 'no pool of warm sandboxes', 'one starts in a fraction of a second: there is nothing to keep warm'),
  // Events.
  w(
    11,
    'events are dropped on the way',
    'durable before they are told, and told until they are taken',
    'p1-durable: kill -9 at ${kills} moments of heavy writing loses nothing and leaves nothing half',
    'webhooks-delivery: whatever it answers, each event arrives once, in order, one request at a time',
  ),
  w(
    12,
    'each page loses an event',
    'pages put together are the whole, each event once',
    'stream: pages cover everything once, in each order and with filters, and an unknown page_id starts anew',
    'app-behaviours: pages of events put together are the log, each way, and filters hold for the count',
  ),
  w(
    13,
    'events of one second are in disorder, and times with a zone fail',
    'one order, strictly increasing times, and any way to write one',
    'p2-ordered: P2 every reader, cut and resumed at random, sees each event once, in order, without gap',
    'app-behaviours: a time is one moment however it is written: with a Z, with an offset, or bare for UTC',
  ),
  w(
    14,
    'a page reads the whole history',
    'a page costs the page',
    'large-pages: P5: a page of very large events is cut short, and the next page goes on where it was cut',
  ),
  w(
    15,
    'two stores disagree about the history',
    'there is one log',
    'weaknesses: W-15 both generations and the socket tell the same events, as many as are counted',
  ),
  w(
    16,
    'a copy is kept up by reading everything again, and one hole makes it unreadable',
    'events are written where they happen, so there is no copy; a damaged one hides only itself',
    'live/disk-full.test.ts: a damaged event is shown as EventDamaged under its id, everywhere, and its neighbours are as they were',
  ),
  // Control.
  w(
    17,
    'answers, pauses and interrupts need a way into the sandbox',
    'they are asked of the server, by conversation',
    'app-conversations: what waits for an answer is answered here too, and an action runs only then',
  ),
  w(
    18,
    'messages that wait are lost, or never said',
    'each is said once, in order, after a crash too; one to nobody is refused',
    'app-conversations: what is said before the conversation is there is said once, in order, when it is',
    'contract/store-starts.ts: what waits to be said keeps its order, stops at the limit, and goes one by one',
  ),
  w(
    19,
    'a conversation without its sandbox hangs',
    'it says so at once, and what became of the files is known before anything starts anew',
    'weaknesses: W-19 a conversation whose sandbox is gone says so at once, in its status and to whoever talks to it',
    'sandboxes: is missing, is not replaced by an empty one when used, and starts anew when resumed',
  ),
  w(
    20,
    'a start cannot be cancelled, and ordering twice makes two',
    'a key or an id is one order; cancelling and deleting end it, whenever they come',
    'app-conversations: the same Idempotency-Key is the same task, also at once and after a restart; for another order it is taken',
    'app-conversations: a start that is cancelled ends with a reason, and leaves neither conversation nor sandbox',
    'weaknesses: W-20 an id is one order, under whatever key, also for a conversation that came another way',
    'weaknesses: W-20 a start that is deleted between being put on record and being launched is not carried out',
    'weaknesses: W-20 in ${ROUNDS} races of an order with a delete, what was deleted does not come to be',
  ),
  w(
    21,
    'an agent is frozen in the middle of a step, and refuses to go on',
    'a pause lets the step end first; whoever runs it again wakes the sandbox',
    'weaknesses: W-21 pausing a sandbox lets the step of its agent end; resumed, the agent goes on',
    'sandboxes-cycles: a pause in the middle of a write tears nothing: the write ends after it, whole',
  ),
  // Leaks.
  w(
    22,
    'starts that fail or are forgotten keep their sandbox',
    'what was made for a start goes with it, also after a crash',
    'weaknesses: W-22 ${MOMENTS} conversations that are deleted the moment they are there leave no sandbox',
    'app-conversations: each failure ends the start with a reason a person understands, and nothing is left behind',
    'starts-crash: P4: a server killed at ${KILLS} points of a start goes on with it: one conversation in one sandbox, or neither',
  ),
  w(
    23,
    'an image without a tag breaks every list',
    'which spec a sandbox is of is written down, not read off its container',
    'contract/sandbox-docker.test.ts: a container bears its owner and its id; another owner does not see it',
  ),
  w(
    24,
    'volumes stay behind',
    'what is removed leaves nothing',
    'contract/sandbox.ts: what is removed leaves nothing: it is not listed, and its files are not there when it is made again',
    'sandboxes-states: afterwards there is no process, folder or control group left',
  ),
  w(
    25,
    'processes are forgotten at a restart, and block when nobody reads them',
    'the next server finds them, and output has somebody who reads it',
    'contract/sandbox.ts: what a server that died left is listed, started over its files, and removed by the next',
    'contract/sandbox.ts: 20 MB go in and come out, byte by byte',
  ),
  w(
    26,
    'the record goes before the sandbox does',
    'the record goes last, whatever happens between',
    'live/sandbox-crash.test.ts: kill -9 at ${CRASHES} moments of starting, pausing, resuming and deleting: nothing lost, nothing left over',
  ),
  w(
    27,
    'a repository that could not be had is an empty folder',
    'the start fails, and says why; the branch is the one that was ordered',
    'app-conversations: each failure ends the start with a reason a person understands, and nothing is left behind',
    'app-conversations: a private one is there on its branch, with who commits, and its token nowhere',
  ),
  w(
    28,
    'others are frozen to make room',
    'one more is refused, and nobody else is touched; a limit of one allows one',
    'sandboxes: one more is refused, nobody else is touched, and there is room after a pause',
    'app-conversations: what cannot be is refused before anything is on record',
  ),
  w(
    29,
    'starts never end, and are kept for ever',
    'a crash does not end them, their end is on record even when the disk was full, and old ones go',
    'starts-crash: P4: a server killed at ${KILLS} points of a start goes on with it: one conversation in one sandbox, or neither',
    'weaknesses: W-29 an end that could not be put on record is put there as soon as it can be',
    'contract/store-starts.ts: starts that ended long ago go as new ones come; those under way stay',
  ),
  // Races.
  w(
    30,
    'a start and a report write the same row over each other',
    'one writer, and changes that come together all count',
    'weaknesses: W-30 changes of one conversation that come at the same time all count',
  ),
  w(
    31,
    'work goes on in what belongs to a request',
    'a start is on record and is carried on by the next server',
    'starts-crash: P4: a server killed at ${KILLS} points of a start goes on with it: one conversation in one sandbox, or neither',
  ),
  w(
    32,
    'two sandboxes take one port',
    'a sandbox takes none: the server has the only one',
    'ports: has a name of its own below localhost, on the server’s port',
  ),
  w(
    33,
    'two pages that save settings undo each other',
    'changes are made to what is stored, in turn',
    'settings-v1: two pages that save at the same time lose nothing of each other',
    'settings-store: 50 patches of different leaves are all kept',
  ),
  w(
    34,
    'a late title undoes what was changed meanwhile',
    'it changes the title alone, and not one that a person gave',
    'agent-asides: what a person calls it stays, however late the model comes up with another',
  ),
  w(
    35,
    'who comes into a shared sandbox loses it to who leaves',
    'coming and leaving take turns; a child goes with its parent however late it comes',
    'weaknesses: W-35 in ${MOVES} races of the last to leave a shared sandbox with one who comes, who comes has a sandbox',
    'weaknesses: W-35 of ${FAMILIES} parents that go while children are begun, none leaves a child',
  ),
  // Security.
  w(
    36,
    'what runs code asks for no key',
    'every route says who may call it, and without a key nobody from elsewhere gets in',
    'p6-access: ${mode} mode: ${name} (${spec.access})',
    'p6-paths: bound to ${host} everybody needs the key, callers of this machine too',
  ),
  w(
    37,
    'a missing key equals a missing header',
    'nobody reports to this server, so there is nothing to compare; a key of what does not run opens nothing',
    'sandboxes: the key of a paused or deleted one opens nothing',
  ),
  w(
    38,
    'keys are compared letter by letter',
    'as hashes, in constant time, and all of a key counts',
    'p6-paths: each of several keys opens, and none but those',
  ),
  w(
    39,
    'the key of a sandbox is told to everybody, and stands in addresses',
    'only to those with a key, only while it runs, and it opens that sandbox alone',
    'sandboxes: whoever brings no key is told none, and everything else',
    'scope: ${name}: not in another sandbox, in none that is not there, nor without a key',
    'server-routes: tells no key, no query and no content',
  ),
  w(
    40,
    'a sandbox sees the machine and the server’s environment',
    'walls, and nothing of the server behind them',
    'isolation-server: a command finds nothing of the server: variables, files, arguments, descriptors, processes',
    'isolation: no port, socket, memory, semaphore or bus of the machine is reached',
  ),
  w(
    41,
    'names of branches and repositories are commands',
    'they are arguments, and only names',
    'repository-hostile: no name of a branch, a folder or a repository becomes an option, a command or another place',
  ),
  w(
    42,
    'tokens lie in clear in files, configurations, logs and reasons',
    'a token is lent to the command that needs it, and sealed where it lies',
    'app-conversations: a private one is there on its branch, with who commits, and its token nowhere',
    'p7-secrets: through every door: settings, secrets, conversations, errors',
    'p7-secrets: keys lie in files that only their owner can read, and the secret key is not the session key',
  ),
  w(
    43,
    'secrets leak through reads and complaints',
    'the schema says what is one, and everything that shows something asks it',
    'weaknesses: W-43 what an order brings as a secret is read nowhere: task, stream, conversation, log, disk',
    'settings-v1: no secret is shown, logged or on disk',
    'validation: is never a secret, wherever it stands',
  ),
  w(
    44,
    'bodies without a bound, addresses without a guard, routes nobody can use',
    'bounded, guarded, and usable with the key or a sandbox’s own',
    'errors: that says it is too large is 413 before it is sent',
    'egress-policy: a URL that names such an address in any form is refused',
    'users: is told with its secrets to the bearer of the key of a sandbox while that runs',
  ),
  // The interface.
  w(
    45,
    'saving one setting wipes the others',
    'what is not named stays',
    'settings-rules: only what a client names changes',
    'settings-v1: all that is shown, sent back, changes nothing',
  ),
  w(
    46,
    'a limit out of range is an error of the server',
    '422, for every list, and a hundred is a hundred',
    'app-behaviours: a limit is 1 to 100, on every list',
  ),
  w(
    47,
    'a sandbox must be named twice to be deleted',
    'once is enough, twice is taken',
    'weaknesses: W-47 a sandbox is deleted by the id in the path, with or without naming it twice',
  ),
  w(
    48,
    'failure looks like emptiness',
    'what cannot be read is an error with a reason; only an unknown cursor is the beginning, as clients expect',
    'weaknesses: W-48 a file that cannot be read is no empty file: unknown conversation, paused sandbox, folder',
  ),
  w(
    49,
    'errors of the caller are errors of the server',
    'they are the caller’s, with a reason, before anything is on record',
    'app-conversations: what cannot be is refused before anything is on record',
    'app-behaviours: wrong types and hostile words in every field of an order: never an error of the server, and nothing is left',
    'fuzz: ${CASES} requests over all routes (seed ${random.seed}): no 5xx, and every answer is as declared',
  ),
  w(
    50,
    'ids, times, counts and errors in several forms',
    'each has one form on the way out, and every usual one is taken',
    'app-behaviours: ids are taken with and without hyphens and in capitals, wherever one is named, and shown in one form',
    'app-behaviours: times are UTC with a Z; from is inclusive, before is exclusive, and a count agrees with its list',
  ),
  w(
    51,
    'one path means two things',
    'both generations are views of one store, told apart by method and body',
    'settings-mapping: ${flat} is ${place}, whichever is written',
  ),
  w(
    52,
    'grouping goes by the wrong clock and the wrong folder',
    'by last use, and a folder of its own only where it is not alone',
    'weaknesses: W-52 the least recently used sandbox is that which was used least recently, not the oldest',
    'app-conversations: with grouping, conversations share a sandbox by the rule, each in a folder of its own, and it goes with the last',
  ),
  w(
    53,
    'only the agent’s own model is counted',
    'so are questions on the side, summaries and sub-agents',
    'budget: questions on the side and summaries are paid from the same purse',
  ),
]
/* biome-ignore-end lint/suspicious/noTemplateCurlyInString: titles as they stand in the source */
