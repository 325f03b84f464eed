import type { Mount, User } from './view.ts'

/** The two processes that keep a sandbox there, as ids of the host. */
export interface Holder {
  /** Waits for the first process inside. For an ordinary user it is also where rights over the sandbox are had. */
  outer: number
  /** The first process inside. */
  init: number
}

export interface Plan {
  mounts: readonly Mount[]
  user: User
  /** An empty folder on which a view can be put together. */
  spot: string
  /** Whether the server is root: it then has rights of its own and drops them, instead of getting some inside a user namespace. */
  privileged: boolean
  /** The words that become the first process. */
  init: readonly string[]
}

/** How a sandbox's view of the machine is built and entered. Pure: words only. */
export interface Walls {
  readonly name: string
  build(plan: Plan): string[]
  /** How many processes stand between the server and a command, waiting for it. */
  readonly leading: number
  /** What stands before the words of a command. On the way in descriptor 7 is the sandbox's user namespace, 8 the kernel's filter. */
  enter(holder: Holder, user: User, privileged: boolean, filtered: boolean): string[]
}

export const NAMESPACE_FD = 7
export const FILTER_FD = 8
