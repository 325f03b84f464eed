import { posix } from 'node:path'
import { AppConversationStartRequest } from '../../api/app-conversations.ts'
import type { ConversationSortOrder } from '../../api/conversations.ts'
import { fault } from '../../api/errors.ts'
import type { appConversationRoutes } from '../../api/routes/app-conversations.ts'
import type { AppConversations } from '../../app-conversation/app-conversations.ts'
import type { PendingMessages } from '../../app-conversation/pending.ts'
import { type Ordering, type StartTask, shown } from '../../app-conversation/start-task.ts'
import type { StartTasks } from '../../app-conversation/start-tasks.ts'
import type { Starts } from '../../app-conversation/starts.ts'
import type { Control } from '../../conversation/control.ts'
import { flat, type Trajectories } from '../../conversation/trajectory.ts'
import { canonicalUuid } from '../../lib/id.ts'
import { parseTime } from '../../lib/time.ts'
import { Files } from '../../sandbox/files.ts'
import type { Git } from '../../sandbox/git.ts'
import type { Reach } from '../../sandbox/sandbox.ts'
import type { LlmProfiles } from '../../settings/profiles.ts'
import type { ConversationFilter } from '../../store/store.ts'
import { askerOf } from '../asker.ts'
import { TEXT_BYTES } from '../limits.ts'
import { attachment } from '../range.ts'
import { Streamed } from '../reply.ts'
import type { Call, Handlers } from '../server.ts'
import { growingArray, taskStream } from '../start-stream.ts'
import { forward } from '../stream.ts'
import { orderOf } from './conversations.ts'

export interface AppConversationHandlersParts {
  appConversations: AppConversations
  starts: Starts
  tasks: StartTasks
  pending: PendingMessages
  control: Control
  profiles: LlmProfiles
  trajectories: Trajectories
  git: Git
  reach: Reach
}

/** An order that says nothing. */
const anything = () => AppConversationStartRequest.parse({})

/** Ids in one question. */
const IDS = 100

export const appConversationHandlers = (
  parts: AppConversationHandlersParts,
): Handlers<typeof appConversationRoutes> => {
  const { appConversations, starts, tasks, pending, control, profiles, trajectories, git, reach } = parts
  const view = (call: Call) => (task: StartTask) => {
    const { origin } = askerOf(call)
    return shown(task, sandbox => `${origin}/sandboxes/${sandbox}`)
  }
  const ordering = (headers: { 'idempotency-key'?: string | undefined }, { standing }: Call): Ordering => ({
    key: headers['idempotency-key'] ?? null,
    trusted: standing === 'key',
  })
  const done = async (work: Promise<unknown>) => {
    await work
    return { success: true }
  }
  const listed = (query: Listing, call: Call) =>
    appConversations.search(
      filterOf(query),
      { id: query.page_id, limit: query.limit, ...orderOf(query) },
      askerOf(call),
    )
  return {
    startAppConversation: async ({ body, headers }, call) =>
      view(call)(await starts.begin(body ?? anything(), ordering(headers, call))),
    streamAppConversationStart: async ({ body, headers }, call) => {
      const task = await starts.begin(body ?? anything(), ordering(headers, call))
      return growingArray(tasks, task, view(call))
    },
    searchAppConversations: ({ query }, call) => listed(query, call),
    countAppConversations: ({ query }) => appConversations.count(filterOf(query)),
    searchStartTasks: async ({ query }, call) => {
      const { page_id, limit, sort_order } = query
      const descending = sort_order === 'CREATED_AT_DESC'
      const page = await tasks.search(taskFilterOf(query), { from: page_id, limit, descending })
      return { items: page.tasks.map(view(call)), next_page_id: page.next }
    },
    countStartTasks: ({ query }) => tasks.count(taskFilterOf(query)),
    batchStartTasks: async ({ query }, call) => {
      const found = await tasks.batch(idsOf(query.ids))
      return found.map(task => (task ? view(call)(task) : null))
    },
    streamStartTask: async ({ params }, call) => taskStream(tasks, await tasks.get(params.task_id), view(call)),
    cancelStartTask: ({ params }) => done(starts.cancel(params.task_id)),
    getAppConversations: ({ query }, call) =>
      query.ids?.length ? appConversations.batch(idsOf(query.ids), askerOf(call)) : listed(query, call),
    updateAppConversation: ({ params, body }, call) =>
      appConversations.update(params.conversation_id, body, askerOf(call)),
    deleteAppConversation: ({ params }) => done(appConversations.delete(params.conversation_id)),
    sendAppMessage: ({ params, body }) => appConversations.send(params.conversation_id, body),
    confirmAppAction: ({ params, body }) => done(control.answer(params.conversation_id, body)),
    runAppConversation: async ({ params }) => {
      await appConversations.wake(params.conversation_id)
      return done(control.run(params.conversation_id))
    },
    pauseAppConversation: ({ params }) => done(control.pause(params.conversation_id)),
    interruptAppConversation: ({ params }) => done(control.interrupt(params.conversation_id)),
    switchAppProfile: async ({ params, body }) => {
      const llm = await profiles.forConversation(body.profile_name)
      return done(control.useLlm(params.conversation_id, llm))
    },
    switchAppAcpModel: async ({ params }) => {
      await appConversations.placeOf(params.conversation_id)
      throw fault('bad_request', 'The agent of this conversation is not an ACP agent')
    },
    readAppFile: async ({ params, query }) => {
      const { sandbox, folder } = await appConversations.placeOf(params.conversation_id)
      const files = new Files(await reach(sandbox))
      return (await files.read(query.file_path ?? posix.join(folder, 'PLAN.md'), TEXT_BYTES)).toString('utf8')
    },
    appGitChanges: async ({ params, query }) => {
      const { sandbox, folder } = await appConversations.placeOf(params.conversation_id)
      return git.changes(sandbox, query.path ?? folder, query.ref)
    },
    appGitDiff: async ({ params, query }) => {
      const { sandbox } = await appConversations.placeOf(params.conversation_id)
      return git.diff(sandbox, query.path, { ref: query.ref, commit: null })
    },
    listAppSkills: async ({ params }) => ({ skills: await appConversations.skills(params.conversation_id) }),
    listAppHooks: ({ params }) => appConversations.hooks(params.conversation_id),
    downloadAppConversation: async ({ params }) => {
      const zip = await trajectories.zip(params.conversation_id, undefined, flat)
      const headers = { 'Content-Disposition': attachment(`conversation_${params.conversation_id}.zip`) }
      return new Streamed('application/zip', out => void forward(zip, out), { headers })
    },
    addPendingMessage: ({ params, body }) => pending.add(addressee(params.conversation_id), body),
  }
}

interface Listing extends Filters {
  page_id: string | null
  limit: number
  sort_order: ConversationSortOrder
}

interface Filters {
  title__contains: string | null
  created_at__gte: string | null
  created_at__lt: string | null
  updated_at__gte: string | null
  updated_at__lt: string | null
  sandbox_id__eq: string | null
  include_sub_conversations: boolean
}

const micros = (text: string | null): number | undefined => (text === null ? undefined : parseTime(text))

const filterOf = (query: Filters): ConversationFilter =>
  defined({
    title: query.title__contains || undefined,
    sandbox: query.sandbox_id__eq ?? undefined,
    createdFrom: micros(query.created_at__gte),
    createdBefore: micros(query.created_at__lt),
    updatedFrom: micros(query.updated_at__gte),
    updatedBefore: micros(query.updated_at__lt),
    top: query.include_sub_conversations ? undefined : true,
  })

const taskFilterOf = (query: { conversation_id__eq: string | null; created_at__gte: string | null }) =>
  defined({
    conversation: query.conversation_id__eq ?? undefined,
    createdFrom: micros(query.created_at__gte),
  })

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }
const defined = <T extends object>(given: T): Defined<T> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Defined<T>

/** All that are wrong are named at once. */
function idsOf(given: string[]): string[] {
  if (given.length > IDS) throw fault('bad_request', `Too many ids requested. Maximum is ${IDS}.`)
  const ids = given.map(text => ({ text, id: canonicalUuid(text) }))
  const wrong = ids.flatMap(({ text, id }) => (id === undefined ? [`'${text.slice(0, 64)}'`] : []))
  if (wrong.length > 0) throw fault('bad_request', `Invalid UUID format for ids: [${wrong.join(', ')}]`)
  return ids.map(({ id }) => id!)
}

function addressee(text: string): { conversation: string } | { task: string } {
  const task = /^task-(.*)$/.exec(text)?.[1]
  const id = canonicalUuid(task ?? text)
  if (id === undefined) throw fault('bad_request', 'Neither a conversation nor task-<id of a start>')
  return task === undefined ? { conversation: id } : { task: id }
}
