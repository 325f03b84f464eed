/** A file below `test/`, and the beginning of a test's title in it, as both stand there. */
type Proof = readonly [file: string, title: string]

export interface Weakness {
  no: number
  /** What goes wrong elsewhere. */
  weak: string
  /** What happens here, or why it cannot. */
  ours: string
  proofs: readonly Proof[]
}

/* biome-ignore-start lint/suspicious/noTemplateCurlyInString: titles as they stand in the source */
/** Faults that servers of this kind are known for. */
export const WEAKNESSES: readonly Weakness[] = [
  // Slow starts, and polling.
  {
    no: 1,
    weak: 'a start polls for its sandbox, up to a wall',
    ours: 'it waits for the sandbox itself, and fails with the reason of that',
    proofs: [
      [
        'behaviour/weaknesses.test.ts',
        'W-1 a sandbox that cannot start ends the start at once, with its exit code and last words',
      ],
      ['behaviour/sandboxes.test.ts', 'says within two seconds how its command ended and what it printed last'],
    ],
  },
  {
    no: 2,
    weak: 'a stale status decides',
    ours: 'each step looks anew: a paused sandbox that is ordered is woken and used',
    proofs: [['behaviour/weaknesses.test.ts', 'W-2 a paused sandbox that is named in an order is resumed for it']],
  },
  {
    no: 3,
    weak: 'where a sandbox can be reached is guessed',
    ours: 'all of them are reached under the one address that the caller used',
    proofs: [
      ['behaviour/weaknesses.test.ts', 'W-3 addresses are those under which the server was asked, and lead there'],
    ],
  },
  {
    no: 4,
    weak: 'a single failed probe makes an error of a sandbox',
    ours: 'nothing is probed: a sandbox is as its first process is',
    proofs: [
      ['behaviour/lifecycle.test.ts', 'why it ended is written down once, of one that should run and has run'],
      ['behaviour/lifecycle.test.ts', 'every status but that of a sandbox on its way out can be left by resuming'],
    ],
  },
  {
    no: 5,
    weak: 'images are pulled within a request',
    ours: 'a pull is a part of the start, and tells how far it is',
    proofs: [
      [
        'contract/sandbox-docker.test.ts',
        'a pull tells how far it has come, and asks for one tag in a version it knows',
      ],
      ['behaviour/settings-effects.test.ts', 'an image that cannot be had fails the start by name'],
    ],
  },
  {
    no: 6,
    weak: 'one slow call to the engine holds everybody up',
    ours: 'nobody waits in place: the engine is spoken to over a socket',
    proofs: [
      [
        'contract/sandbox-docker.test.ts',
        'an engine that goes away in the midst of an answer is told as one that does not answer',
      ],
    ],
  },
  {
    no: 7,
    weak: 'a list asks every sandbox',
    ours: 'what is listed is known already; nobody is asked, or woken',
    proofs: [
      ['behaviour/weaknesses.test.ts', 'W-7 lists ask no sandbox: one that is paused is listed as that, and stays so'],
    ],
  },
  {
    no: 8,
    weak: 'clients have to poll',
    ours: 'a start can be followed, as a growing array or as events',
    proofs: [
      [
        'behaviour/app-conversations.test.ts',
        'the statuses come in order, streamed as a growing array and as events, and both end by themselves',
      ],
    ],
  },
  {
    no: 9,
    weak: 'preparing takes long, unseen, and in part twice',
    ours: 'a step says what came of it; what has no need to be ready first is left to the conversation',
    proofs: [
      [
        'behaviour/app-conversations.test.ts',
        'the statuses come in order, streamed as a growing array and as events, and both end by themselves',
      ],
      [
        'behaviour/app-conversations.test.ts',
        'each failure ends the start with a reason a person understands, and nothing is left behind',
      ],
    ],
  },
  {
    no: 10,
    weak: 'no pool of warm sandboxes',
    ours: 'one starts in a fraction of a second: there is nothing to keep warm',
    proofs: [],
  },
  // Events.
  {
    no: 11,
    weak: 'events are dropped on the way',
    ours: 'durable before they are told, and told until they are taken',
    proofs: [
      [
        'behaviour/p1-durable.test.ts',
        'kill -9 at ${kills} moments of heavy writing loses nothing and leaves nothing half',
      ],
      [
        'behaviour/webhooks-delivery.test.ts',
        'whatever it answers, each event arrives once, in order, one request at a time',
      ],
    ],
  },
  {
    no: 12,
    weak: 'each page loses an event',
    ours: 'pages put together are the whole, each event once',
    proofs: [
      [
        'behaviour/stream.test.ts',
        'pages cover everything once, in each order and with filters, and an unknown page_id starts anew',
      ],
      [
        'behaviour/app-behaviours.test.ts',
        'pages of events put together are the log, each way, and filters hold for the count',
      ],
    ],
  },
  {
    no: 13,
    weak: 'events of one second are in disorder, and times with a zone fail',
    ours: 'one order, strictly increasing times, and any way to write one',
    proofs: [
      [
        'behaviour/p2-ordered.test.ts',
        'P2 every reader, cut and resumed at random, sees each event once, in order, without gap',
      ],
      [
        'behaviour/app-behaviours.test.ts',
        'a time is one moment however it is written: with a Z, with an offset, or bare for UTC',
      ],
    ],
  },
  {
    no: 14,
    weak: 'a page reads the whole history',
    ours: 'a page costs the page',
    proofs: [
      [
        'behaviour/large-pages.test.ts',
        'P5: a page of very large events is cut short, and the next page goes on where it was cut',
      ],
    ],
  },
  {
    no: 15,
    weak: 'two stores disagree about the history',
    ours: 'there is one log',
    proofs: [
      [
        'behaviour/weaknesses.test.ts',
        'W-15 both generations and the socket tell the same events, as many as are counted',
      ],
    ],
  },
  {
    no: 16,
    weak: 'a copy is kept up by reading everything again, and one hole makes it unreadable',
    ours: 'events are written where they happen, so there is no copy; a damaged one hides only itself',
    proofs: [
      [
        'live/disk-full.test.ts',
        'a damaged event is shown as EventDamaged under its id, everywhere, and its neighbours are as they were',
      ],
    ],
  },
  // Control.
  {
    no: 17,
    weak: 'answers, pauses and interrupts need a way into the sandbox',
    ours: 'they are asked of the server, by conversation',
    proofs: [
      [
        'behaviour/app-conversations.test.ts',
        'what waits for an answer is answered here too, and an action runs only then',
      ],
    ],
  },
  {
    no: 18,
    weak: 'messages that wait are lost, or never said',
    ours: 'each is said once, in order, after a crash too; one to nobody is refused',
    proofs: [
      [
        'behaviour/app-conversations.test.ts',
        'what is said before the conversation is there is said once, in order, when it is',
      ],
      ['contract/store-starts.ts', 'what waits to be said keeps its order, stops at the limit, and goes one by one'],
    ],
  },
  {
    no: 19,
    weak: 'a conversation without its sandbox hangs',
    ours: 'it says so at once, and what became of the files is known before anything starts anew',
    proofs: [
      [
        'behaviour/weaknesses.test.ts',
        'W-19 a conversation whose sandbox is gone says so at once, in its status and to whoever talks to it',
      ],
      [
        'behaviour/sandboxes.test.ts',
        'is missing, is not replaced by an empty one when used, and starts anew when resumed',
      ],
    ],
  },
  {
    no: 20,
    weak: 'a start cannot be cancelled, and ordering twice makes two',
    ours: 'a key or an id is one order; cancelling and deleting end it, whenever they come',
    proofs: [
      [
        'behaviour/app-conversations.test.ts',
        'the same Idempotency-Key is the same task, also at once and after a restart; for another order it is taken',
      ],
      [
        'behaviour/app-conversations.test.ts',
        'a start that is cancelled ends with a reason, and leaves neither conversation nor sandbox',
      ],
      [
        'behaviour/weaknesses.test.ts',
        'W-20 an id is one order, under whatever key, also for a conversation that came another way',
      ],
      [
        'behaviour/weaknesses.test.ts',
        'W-20 a start that is deleted between being put on record and being launched is not carried out',
      ],
      [
        'behaviour/weaknesses.test.ts',
        'W-20 in ${ROUNDS} races of an order with a delete, what was deleted does not come to be',
      ],
    ],
  },
  {
    no: 21,
    weak: 'an agent is frozen in the middle of a step, and refuses to go on',
    ours: 'a pause lets the step end first; whoever runs it again wakes the sandbox',
    proofs: [
      [
        'behaviour/weaknesses.test.ts',
        'W-21 pausing a sandbox lets the step of its agent end; resumed, the agent goes on',
      ],
      [
        'behaviour/sandboxes-cycles.test.ts',
        'a pause in the middle of a write tears nothing: the write ends after it, whole',
      ],
    ],
  },
  // Leaks.
  {
    no: 22,
    weak: 'starts that fail or are forgotten keep their sandbox',
    ours: 'what was made for a start goes with it, also after a crash',
    proofs: [
      [
        'behaviour/app-conversations.test.ts',
        'each failure ends the start with a reason a person understands, and nothing is left behind',
      ],
      [
        'behaviour/starts-crash.test.ts',
        'P4: a server killed at ${KILLS} points of a start goes on with it: one conversation in one sandbox, or neither',
      ],
    ],
  },
  {
    no: 23,
    weak: 'an image without a tag breaks every list',
    ours: 'which spec a sandbox is of is written down, not read off its container',
    proofs: [
      ['contract/sandbox-docker.test.ts', 'a container bears its owner and its id; another owner does not see it'],
    ],
  },
  {
    no: 24,
    weak: 'volumes stay behind',
    ours: 'what is removed leaves nothing',
    proofs: [
      [
        'contract/sandbox.ts',
        'what is removed leaves nothing: it is not listed, and its files are not there when it is made again',
      ],
      ['behaviour/sandboxes-states.test.ts', 'afterwards there is no process, folder or control group left'],
    ],
  },
  {
    no: 25,
    weak: 'processes are forgotten at a restart, and block when nobody reads them',
    ours: 'the next server finds them, and output has somebody who reads it',
    proofs: [
      [
        'contract/sandbox.ts',
        'what a server that died left is listed, started over its files, and removed by the next',
      ],
      ['contract/sandbox.ts', '20 MB go in and come out, byte by byte'],
    ],
  },
  {
    no: 26,
    weak: 'the record goes before the sandbox does',
    ours: 'the record goes last, whatever happens between',
    proofs: [
      [
        'live/sandbox-crash.test.ts',
        'kill -9 at ${CRASHES} moments of starting, pausing, resuming and deleting: nothing lost, nothing left over',
      ],
    ],
  },
  {
    no: 27,
    weak: 'a repository that could not be had is an empty folder',
    ours: 'the start fails, and says why; the branch is the one that was ordered',
    proofs: [
      [
        'behaviour/app-conversations.test.ts',
        'each failure ends the start with a reason a person understands, and nothing is left behind',
      ],
      [
        'behaviour/app-conversations.test.ts',
        'a private one is there on its branch, with who commits, and its token nowhere',
      ],
    ],
  },
  {
    no: 28,
    weak: 'others are frozen to make room',
    ours: 'one more is refused, and nobody else is touched; a limit of one allows one',
    proofs: [
      ['behaviour/sandboxes.test.ts', 'one more is refused, nobody else is touched, and there is room after a pause'],
      ['behaviour/app-conversations.test.ts', 'what cannot be is refused before anything is on record'],
    ],
  },
  {
    no: 29,
    weak: 'starts never end, and are kept for ever',
    ours: 'a crash does not end them, their end is on record even when the disk was full, and old ones go',
    proofs: [
      [
        'behaviour/starts-crash.test.ts',
        'P4: a server killed at ${KILLS} points of a start goes on with it: one conversation in one sandbox, or neither',
      ],
      ['behaviour/weaknesses.test.ts', 'W-29 an end that could not be put on record is put there as soon as it can be'],
      ['contract/store-starts.ts', 'starts that ended long ago go as new ones come; those under way stay'],
    ],
  },
  // Races.
  {
    no: 30,
    weak: 'a start and a report write the same row over each other',
    ours: 'one writer, and changes that come together all count',
    proofs: [['behaviour/weaknesses.test.ts', 'W-30 changes of one conversation that come at the same time all count']],
  },
  {
    no: 31,
    weak: 'work goes on in what belongs to a request',
    ours: 'a start is on record and is carried on by the next server',
    proofs: [
      [
        'behaviour/starts-crash.test.ts',
        'P4: a server killed at ${KILLS} points of a start goes on with it: one conversation in one sandbox, or neither',
      ],
    ],
  },
  {
    no: 32,
    weak: 'two sandboxes take one port',
    ours: 'a sandbox takes none: the server has the only one',
    proofs: [['behaviour/ports.test.ts', 'has a name of its own below localhost, on the server’s port']],
  },
  {
    no: 33,
    weak: 'two pages that save settings undo each other',
    ours: 'changes are made to what is stored, in turn',
    proofs: [
      ['behaviour/settings-v1.test.ts', 'two pages that save at the same time lose nothing of each other'],
      ['behaviour/settings-store.test.ts', '50 patches of different leaves are all kept'],
    ],
  },
  {
    no: 34,
    weak: 'a late title undoes what was changed meanwhile',
    ours: 'it changes the title alone, and not one that a person gave',
    proofs: [
      ['behaviour/agent-asides.test.ts', 'what a person calls it stays, however late the model comes up with another'],
    ],
  },
  {
    no: 35,
    weak: 'who comes into a shared sandbox loses it to who leaves',
    ours: 'coming and leaving take turns; a child goes with its parent however late it comes',
    proofs: [
      [
        'behaviour/weaknesses.test.ts',
        'W-35 in ${MOVES} races of the last to leave a shared sandbox with one who comes, who comes has a sandbox',
      ],
      [
        'behaviour/weaknesses.test.ts',
        'W-35 of ${FAMILIES} parents that go while children are begun, none leaves a child',
      ],
    ],
  },
  // Security.
  {
    no: 36,
    weak: 'what runs code asks for no key',
    ours: 'every route says who may call it, and without a key nobody from elsewhere gets in',
    proofs: [
      ['behaviour/p6-access.test.ts', '${mode} mode: ${name} (${spec.access})'],
      ['behaviour/p6-paths.test.ts', 'bound to ${host} everybody needs the key, callers of this machine too'],
    ],
  },
  {
    no: 37,
    weak: 'a missing key equals a missing header',
    ours: 'nobody reports to this server, so there is nothing to compare; a key of what does not run opens nothing',
    proofs: [['behaviour/sandboxes.test.ts', 'the key of a paused or deleted one opens nothing']],
  },
  {
    no: 38,
    weak: 'keys are compared letter by letter',
    ours: 'as hashes, in constant time, and all of a key counts',
    proofs: [['behaviour/p6-paths.test.ts', 'each of several keys opens, and none but those']],
  },
  {
    no: 39,
    weak: 'the key of a sandbox is told to everybody, and stands in addresses',
    ours: 'only to those with a key, only while it runs, and it opens that sandbox alone',
    proofs: [
      ['behaviour/sandboxes.test.ts', 'whoever brings no key is told none, and everything else'],
      ['behaviour/scope.test.ts', '${name}: not in another sandbox, in none that is not there, nor without a key'],
      ['behaviour/server-routes.test.ts', 'tells no key, no query and no content'],
    ],
  },
  {
    no: 40,
    weak: 'a sandbox sees the machine and the server’s environment',
    ours: 'walls, and nothing of the server behind them',
    proofs: [
      [
        'behaviour/isolation-server.test.ts',
        'a command finds nothing of the server: variables, files, arguments, descriptors, processes',
      ],
      ['behaviour/isolation.test.ts', 'no port, socket, memory, semaphore or bus of the machine is reached'],
    ],
  },
  {
    no: 41,
    weak: 'names of branches and repositories are commands',
    ours: 'they are arguments, and only names',
    proofs: [
      [
        'behaviour/repository-hostile.test.ts',
        'no name of a branch, a folder or a repository becomes an option, a command or another place',
      ],
    ],
  },
  {
    no: 42,
    weak: 'tokens lie in clear in files, configurations, logs and reasons',
    ours: 'a token is lent to the command that needs it, and sealed where it lies',
    proofs: [
      [
        'behaviour/app-conversations.test.ts',
        'a private one is there on its branch, with who commits, and its token nowhere',
      ],
      ['behaviour/p7-secrets.test.ts', 'through every door: settings, secrets, conversations, errors'],
      [
        'behaviour/p7-secrets.test.ts',
        'keys lie in files that only their owner can read, and the secret key is not the session key',
      ],
    ],
  },
  {
    no: 43,
    weak: 'secrets leak through reads and complaints',
    ours: 'the schema says what is one, and everything that shows something asks it',
    proofs: [
      [
        'behaviour/weaknesses.test.ts',
        'W-43 what an order brings as a secret is read nowhere: task, stream, conversation, log, disk',
      ],
      ['behaviour/settings-v1.test.ts', 'no secret is shown, logged or on disk'],
      ['behaviour/validation.test.ts', 'is never a secret, wherever it stands'],
    ],
  },
  {
    no: 44,
    weak: 'bodies without a bound, addresses without a guard, routes nobody can use',
    ours: 'bounded, guarded, and usable with the key or a sandbox’s own',
    proofs: [
      ['behaviour/errors.test.ts', 'that says it is too large is 413 before it is sent'],
      ['behaviour/egress-policy.test.ts', 'a URL that names such an address in any form is refused'],
      ['behaviour/users.test.ts', 'is told with its secrets to the bearer of the key of a sandbox while that runs'],
    ],
  },
  // The interface.
  {
    no: 45,
    weak: 'saving one setting wipes the others',
    ours: 'what is not named stays',
    proofs: [
      ['behaviour/settings-rules.test.ts', 'only what a client names changes'],
      ['behaviour/settings-v1.test.ts', 'all that is shown, sent back, changes nothing'],
    ],
  },
  {
    no: 46,
    weak: 'a limit out of range is an error of the server',
    ours: '422, for every list, and a hundred is a hundred',
    proofs: [['behaviour/app-behaviours.test.ts', 'a limit is 1 to 100, on every list']],
  },
  {
    no: 47,
    weak: 'a sandbox must be named twice to be deleted',
    ours: 'once is enough, twice is taken',
    proofs: [
      [
        'behaviour/weaknesses.test.ts',
        'W-47 a sandbox is deleted by the id in the path, with or without naming it twice',
      ],
    ],
  },
  {
    no: 48,
    weak: 'failure looks like emptiness',
    ours: 'what cannot be read is an error with a reason; only an unknown cursor is the beginning, as clients expect',
    proofs: [
      [
        'behaviour/weaknesses.test.ts',
        'W-48 a file that cannot be read is no empty file: unknown conversation, paused sandbox, folder',
      ],
    ],
  },
  {
    no: 49,
    weak: 'errors of the caller are errors of the server',
    ours: 'they are the caller’s, with a reason, before anything is on record',
    proofs: [
      ['behaviour/app-conversations.test.ts', 'what cannot be is refused before anything is on record'],
      [
        'behaviour/app-behaviours.test.ts',
        'wrong types and hostile words in every field of an order: never an error of the server, and nothing is left',
      ],
      [
        'behaviour/fuzz.test.ts',
        '${CASES} requests over all routes (seed ${random.seed}): no 5xx, and every answer is as declared',
      ],
    ],
  },
  {
    no: 50,
    weak: 'ids, times, counts and errors in several forms',
    ours: 'each has one form on the way out, and every usual one is taken',
    proofs: [
      [
        'behaviour/app-behaviours.test.ts',
        'ids are taken with and without hyphens and in capitals, wherever one is named, and shown in one form',
      ],
      [
        'behaviour/app-behaviours.test.ts',
        'times are UTC with a Z; from is inclusive, before is exclusive, and a count agrees with its list',
      ],
    ],
  },
  {
    no: 51,
    weak: 'one path means two things',
    ours: 'both generations are views of one store, told apart by method and body',
    proofs: [['behaviour/settings-mapping.test.ts', '${flat} is ${place}, whichever is written']],
  },
  {
    no: 52,
    weak: 'grouping goes by the wrong clock and the wrong folder',
    ours: 'by last use, and a folder of its own only where it is not alone',
    proofs: [
      [
        'behaviour/weaknesses.test.ts',
        'W-52 the least recently used sandbox is that which was used least recently, not the oldest',
      ],
      [
        'behaviour/app-conversations.test.ts',
        'with grouping, conversations share a sandbox by the rule, each in a folder of its own, and it goes with the last',
      ],
    ],
  },
  {
    no: 53,
    weak: 'only the agent’s own model is counted',
    ours: 'so are questions on the side, summaries and sub-agents',
    proofs: [['behaviour/budget.test.ts', 'questions on the side and summaries are paid from the same purse']],
  },
]
/* biome-ignore-end lint/suspicious/noTemplateCurlyInString: titles as they stand in the source */
