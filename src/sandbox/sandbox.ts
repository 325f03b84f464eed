import type { Duplex, Readable, Writable } from 'node:stream'

/**
 * Where hands work. One contract suite (test/contract/sandbox.ts) says what every backend must do.
 *
 * - A backend owns resources (processes, folders, containers), each marked as this data folder's and with the
 *   sandbox's id, so that none is forgotten after a crash: `list` finds them all.
 * - Every call about a life is idempotent: it may be repeated in any state, also after having been cut short.
 * - Nothing of the server is inside: no variable of its environment, no file, no descriptor.
 */
export interface Backend {
  readonly name: BackendName
  /** Tries isolation out on a sandbox made for that. Never rejects: what failed is in the answer. */
  prove(signal?: AbortSignal): Promise<Proof>
  /**
   * Brings it to life over the files of its earlier lives, and resolves when a command could run in it. Rejects with a
   * Fault `sandbox_failed` that names exit code and last log lines as soon as that is known, never by waiting it out.
   */
  start(order: Order, signal?: AbortSignal): Promise<void>
  /** Freezes its processes; they keep their memory. */
  pause(id: string): Promise<void>
  /** Thaws them. */
  resume(id: string): Promise<void>
  /** Ends its processes and keeps its files. */
  stop(id: string): Promise<void>
  /** Ends its processes and removes its files and every other trace. */
  remove(id: string): Promise<void>
  look(id: string): Promise<Sight>
  /** The ids of all that are there, in any state. */
  list(): Promise<string[]>
  /** The way in. Only a running one can be acted in: `sandbox_unavailable` otherwise. */
  sandbox(id: string): Sandbox
  /** What it printed while starting, and what it complained of since; the last lines. */
  logs(id: string): Promise<string>
  /** What it uses just now. */
  usage(id: string): Promise<Usage>
  /** Lets go of everything that only makes sense while this server runs. */
  close(): Promise<void>
}

export type BackendName = 'local' | 'docker' | 'process'

/** What came of trying: whether hands reach the host's files or network, and with what the walls are built. */
export interface Proof {
  isolated: boolean
  /** One line for a person: what isolates, or why nothing does and how to get it. */
  summary: string
}

export type State = 'absent' | 'stopped' | 'running' | 'paused'

export interface Sight {
  state: State
  /** Why it is not running, when it ended by itself. */
  failure?: string
}

export interface Usage {
  memoryBytes: number
  diskBytes: number
  processes: number
}

/** What a sandbox is made from. */
export interface Order {
  id: string
  /** For backends that use images. */
  image?: string
  /** For backends that have several: what runs the image, for instance `runsc`. */
  runtime?: string
  /** What runs in it from the start, beside what is executed later. */
  command?: readonly string[]
  /** Made if it is missing, and where commands start unless they say otherwise. */
  workingDir: string
  /** Variables every command gets. */
  env: Readonly<Record<string, string>>
  limits: Limits
  egress: Egress
  /** Host folders inside, at their own path. */
  grants: readonly Grant[]
  /** Told in a word or two what takes long, for instance how much of an image has come. */
  onProgress?: (what: string) => void
}

export interface Limits {
  memoryBytes: number
  processes: number
  /** Of one core: 1.5 is one and a half. */
  cpus: number
  diskBytes: number
}

/**
 * What may be reached from inside. `open` is the public internet; `hosts` are names, `*.name` for all below it, or
 * addresses, each optionally with `:port`. Loopback, private and link-local addresses need an entry of their own.
 */
export type Egress = { mode: 'none' } | { mode: 'hosts' | 'open'; hosts: readonly string[] }

export interface Grant {
  path: string
  readOnly: boolean
}

/** A running sandbox, as tools and routes see it. */
export interface Sandbox {
  readonly id: string
  /** The home folder inside. */
  readonly home: string
  readonly workingDir: string
  /** Where the file routes stay, should there be no wall: absent where everything within reach is the sandbox's own. */
  readonly roots?: readonly string[]
  exec(command: Command): Promise<Process>
  /** Connects to a port that something inside listens on, on its loopback. */
  connect(port: number): Promise<Duplex>
}

export interface Command {
  /** The program and its arguments. Never a line for a shell, unless the program is one. */
  argv: readonly [string, ...string[]]
  /** Absolute. The sandbox's working directory unless given. */
  cwd?: string
  /** Beside what the order gives. */
  env?: Readonly<Record<string, string>>
  /** Whether something will be written to it; otherwise it reads the end at once. */
  stdin?: boolean
  /** Runs in a terminal of this size: output and errors then come as one. */
  pty?: Size
  timeoutMs?: number
  /** Ends it, with all it started. */
  signal?: AbortSignal
  /** What a person would call it; shown beside a request it was refused. */
  label?: string
  /**
   * For it and all it starts, narrower than the order's: a host must be allowed by both. A backend that cannot hold it to that
   * refuses it: `egress_unsupported`.
   */
  egress?: Egress
}

export interface Size {
  columns: number
  rows: number
}

export interface Process {
  /** Present when the command asked for it, or for a terminal. */
  readonly stdin: Writable | undefined
  readonly stdout: Readable
  /** Empty in a terminal. */
  readonly stderr: Readable
  /** When the command itself has ended. What it left in the background may still hold the streams. Never rejects. */
  readonly exit: Promise<Exit>
  /** To the command and all it started. */
  signal(name: NodeJS.Signals): Promise<void>
  resize(size: Size): Promise<void>
}

/**
 * `code` is what a shell would see in `$?`: 126 when it cannot be executed or its directory is not there, 127 when there is no
 * such program, 128 + n when signal n ended it.
 */
export interface Exit {
  code: number
  /** `lost`: the sandbox went away under it. */
  reason: 'exited' | 'timeout' | 'aborted' | 'lost'
}

/** Finds where a request acts, and wakes or makes it: the default sandbox, or the one it is confined to. */
export type Reach = (id?: string) => Promise<Sandbox>

/** The sandbox of the routes that name none. */
export const DEFAULT_SANDBOX = 'default'
