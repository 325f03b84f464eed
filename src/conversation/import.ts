import type { OpenAction } from '../agent/book.ts'
import { AGENT, failure } from '../agent/execute.ts'
import { type Draft, statusUpdate } from '../api/draft.ts'
import { fault } from '../api/errors.ts'
import type { Event } from '../api/events.ts'
import { newId } from '../lib/id.ts'
import { now } from '../lib/time.ts'
import { unzip, ZipError } from '../lib/unzip.ts'
import { unsupportedAnalyzers } from '../policy/risk.ts'
import type { Vault } from '../policy/secrets.ts'
import { DEFAULT_SANDBOX } from '../sandbox/sandbox.ts'
import type { NewConversation, NewEvent, Store } from '../store/store.ts'
import type { Caution } from './conversations.ts'
import { place } from './draft.ts'
import { type Description, describedBy } from './imported-description.ts'
import { eventsOf } from './imported-events.ts'
import { readTrajectory } from './imported-files.ts'
import { encode } from './journal.ts'
import { makeOrder } from './order.ts'
import { fold, initialState, isTreeNode, type State } from './state.ts'

/** Being read at once: each is held whole, several times over, until it is stored. */
const IMPORTS_AT_ONCE = 2
/** Far more than the longest logs have; each costs an entry of a list while it is read. */
const FILES = 100_000
/** Unpacked: a long log with pictures. It is one write, so it stands in memory as a whole, in several forms. */
const BYTES = 64 * 1024 * 1024
/** Actions without a result: a model calls a few at once, and each is compared with all others. */
const OPEN = 1000

export interface ImportsParts {
  store: Store
  vault: Vault
  caution(): Promise<Caution>
  checkFolder(folder: string, sandbox: string): Promise<void>
  workingDirOf(sandbox: string): string
}

/** Takes conversations that were exported, here or from another server of this family. */
export class Imports {
  readonly #parts: ImportsParts
  #underWay = 0

  constructor(parts: ImportsParts) {
    this.#parts = parts
  }

  /** The id of a conversation that rests: the one it had, unless that is taken. All of it is there then, or nothing. */
  async take(read: () => Promise<Buffer>, sandbox = DEFAULT_SANDBOX): Promise<string> {
    if (this.#underWay >= IMPORTS_AT_ONCE) throw fault('overloaded')
    this.#underWay += 1
    try {
      return await this.#take(await read(), sandbox)
    } catch (error) {
      throw error instanceof ZipError ? fault('invalid_request', error.message) : error
    } finally {
      this.#underWay -= 1
    }
  }

  async #take(archive: Buffer, sandbox: string): Promise<string> {
    const { store, vault, caution, checkFolder, workingDirOf } = this.#parts
    const trajectory = await readTrajectory(unzip(archive, { files: FILES, bytes: BYTES }))
    const described = describedBy(trajectory.about, workingDirOf(sandbox))
    const { working_dir } = described.request.workspace
    await checkFolder(working_dir, sandbox)
    const request = described.hasPolicy ? described.request : { ...described.request, ...(await caution()) }
    const { order, skills } = makeOrder(request, described.agent, vault, () => false)
    const createdAt = now()
    const log: NewEvent[] = []
    let folded = initialState({ ...order.begun, last_event_at: createdAt })
    for await (const event of eventsOf(trajectory.events)) {
      folded = fold(folded, event)
      log.push(encode(event))
      if (folded.open.length > OPEN) throw fault('invalid_request', `More than ${OPEN} actions have no result`)
    }
    const unsupported = unsupportedAnalyzers(folded.security_analyzer)
    if (unsupported.length > 0) throw fault('invalid_request', `There is no ${unsupported.join(', ')} here`)
    const isNode = (event: NewEvent) => isTreeNode(event as Pick<Event, 'kind'>)
    const { events: results, state } = atRest(folded, described, id => log.some(one => one.id === id && isNode(one)))
    log.push(...results.map(encode))
    const conversation: Omit<NewConversation, 'id'> = {
      createdAt,
      updatedAt: createdAt,
      status: state.execution_status,
      title: described.title,
      parentId: null,
      sandbox,
      head: log.length,
      state: JSON.stringify(state),
      parts: { order: JSON.stringify(order), skills: JSON.stringify(skills) },
    }
    const create = (id: string) => store.createConversation({ ...conversation, id }, log)
    if (await create(described.id)) return described.id
    const id = newId()
    if (!(await create(id))) throw fault('conversation_exists', id)
    return id
  }
}

/** Nothing is under way in a copy, and nothing in it has an approval here: what was open gets a result. */
function atRest(folded: State, { leaf, activated_knowledge_skills }: Description, has: (id: string) => boolean) {
  const state: State = {
    ...folded,
    leaf_event_id: leaf !== null && has(leaf) ? leaf : folded.leaf_event_id,
    activated_knowledge_skills,
    meanwhile: null,
  }
  const isAwake = ['running', 'waiting_for_confirmation', 'deleting'].includes(state.execution_status)
  return place(state, [...state.open.map(notRun), ...(isAwake ? [statusUpdate('idle')] : [])])
}

const notRun = ({ tool, call }: OpenAction): Draft =>
  failure(
    { tool_name: tool, tool_call_id: call },
    'This conversation was imported before the call had a result. It was not run here; whether it ran elsewhere is not known.',
    AGENT,
  )
