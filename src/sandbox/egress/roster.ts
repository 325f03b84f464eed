import { randomBytes } from 'node:crypto'
import { Recent } from '../../lib/recent.ts'
import { recently } from '../../lib/recently.ts'
import type { Egress } from '../sandbox.ts'

/** Commands whose names are remembered, for those still running when they are refused something. */
const LABELS = 1_000

/** To see what still runs costs a look at its processes, and anybody inside may ask for it. */
const SWEEP_MS = 250

interface Narrowed {
  label: string
  egress: Egress
  /** Present once the command itself has ended: whether anything that it started still runs. */
  remains?: () => Promise<boolean>
  /** Nothing was seen at the last look. One is not enough: what is just becoming another program shows no environment for a moment. */
  missed?: boolean
}

/**
 * The commands of one sandbox, by the user names under which their requests come.
 *
 * A request under a known name must be allowed by the sandbox's policy and by that command's. One without a name, or under
 * an unknown one, may be of any command: it must be allowed by all policies in force, so that to drop or change the name widens
 * nothing. A command's policy is in force until nothing that it started runs any more, and no later one pushes it out: what was
 * left in the background may live long. A name cannot be guessed, but commands of one sandbox are the same user and
 * can look it up in each other's environment: this is no wall between them.
 */
export class Roster {
  readonly #egress: Egress
  /** Of commands that have no policy of their own. */
  readonly #labels = new Recent<string>(LABELS)
  /** As many as run, or have left something running, and those that ended since the last look. */
  readonly #narrowed = new Map<string, Narrowed>()
  readonly #swept = recently(SWEEP_MS, () => this.#sweep())

  constructor(egress: Egress) {
    this.#egress = egress
  }

  /** The user name for a command that is about to start. */
  enter(label: string, egress?: Egress): string {
    const name = randomBytes(16).toString('hex')
    if (egress) this.#narrowed.set(name, { label, egress })
    else this.#labels.set(name, label)
    return name
  }

  /** The command itself has ended. */
  leave(name: string, remains: () => Promise<boolean>): void {
    const narrowed = this.#narrowed.get(name)
    if (!narrowed) return
    narrowed.remains = remains
    void this.#swept()
  }

  labelOf(name: string): string | undefined {
    return this.#narrowed.get(name)?.label ?? this.#labels.get(name)
  }

  /** What must all allow a request that comes under this name. */
  async policiesFor(name: string | undefined): Promise<readonly Egress[]> {
    const own = name === undefined ? undefined : this.#narrowed.get(name)
    if (own) return [this.#egress, own.egress]
    if (name !== undefined && this.#labels.get(name) !== undefined) return [this.#egress]
    await this.#swept()
    return [this.#egress, ...[...this.#narrowed.values()].map(({ egress }) => egress)]
  }

  async #sweep(): Promise<void> {
    await Promise.all(
      [...this.#narrowed].map(async ([name, one]) => {
        if (!one.remains) return
        const gone = !(await one.remains().catch(() => true))
        if (gone && one.missed) this.#narrowed.delete(name)
        one.missed = gone
      }),
    )
  }
}
