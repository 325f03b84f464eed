import { createHash } from 'node:crypto'
import {
  AppConversationStartRequest,
  type AppConversationStartTask,
  type StartStatus,
  type StartStep,
} from '../api/app-conversations.ts'
import { hexUuid, newId } from '../lib/id.ts'
import { formatUtc, type Micros, now } from '../lib/time.ts'
import { masked, type Vault } from '../policy/secrets.ts'
import type { StartTaskRow } from '../store/store.ts'

/** What is remembered of a start. The order in it has its secrets sealed. */
export interface StartRecord {
  status: StartStatus
  detail: string | null
  request: AppConversationStartRequest
  /** Ordered with the key: what the user keeps secret may be used for it. */
  trusted: boolean
  /** Tells whether somebody who names it again orders the same. */
  digest: string
  /** Named before it is made, so that a crash between leaves nobody's. */
  sandbox: string | null
  /** Where its files will be. */
  folder: string | null
  /** Others work in its sandbox too. */
  shared: boolean
  /** What the agent must know of how its folder was prepared. */
  notes: string[]
  steps: StartStep[]
}

export interface StartTask extends Omit<StartTaskRow, 'json' | 'order' | 'open' | 'damaged'> {
  record: StartRecord
}

export const isOver = ({ status }: Pick<StartRecord, 'status'>): boolean => status === 'READY' || status === 'ERROR'

/** How an order came. */
export interface Ordering {
  /** What its caller calls it by, so as not to order twice. */
  key: string | null
  trusted: boolean
}

/** What was ordered: as it came, what it means, and the conversation it will be. */
export interface StartOrder {
  sent: AppConversationStartRequest
  request: AppConversationStartRequest
  conversation: string
}

export function newStartTask(
  { sent, request, conversation }: StartOrder,
  { key, trusted }: Ordering,
  vault: Vault,
): StartTask {
  const at = now()
  return {
    id: newId(),
    createdAt: at,
    updatedAt: at,
    version: 0,
    conversation,
    key,
    record: {
      status: 'WORKING',
      detail: null,
      request: vault.sealAll(AppConversationStartRequest, request),
      trusted,
      digest: digestOf(sent, vault),
      sandbox: null,
      folder: null,
      shared: false,
      notes: [],
      steps: [],
    },
  }
}

/** With a key of ours: a digest of an order would otherwise give its short secrets away. */
export const digestOf = (request: AppConversationStartRequest, vault: Vault): string =>
  vault.derive(`order ${createHash('sha256').update(JSON.stringify(request)).digest('hex')}`)

export const toRow = ({ record: { request, ...progress }, ...task }: StartTask): StartTaskRow => ({
  ...task,
  open: !isOver(progress),
  json: JSON.stringify(progress),
  order: JSON.stringify(request),
})

/** One that did not survive on disk has failed: what it would have led to is unknown. */
export function fromRow({ json, order, open, damaged, ...task }: StartTaskRow): StartTask {
  return { ...task, record: damaged ? unreadable() : { ...JSON.parse(json), request: JSON.parse(order) } }
}

const unreadable = (): StartRecord => ({
  status: 'ERROR',
  detail: 'The record of this start is damaged on disk',
  request: AppConversationStartRequest.parse({}),
  trusted: false,
  digest: '',
  sandbox: null,
  folder: null,
  shared: false,
  notes: [],
  steps: [],
})

/** `urlOf` gives the address of a sandbox's API. */
export function shown(
  { id, createdAt, updatedAt, conversation, record }: StartTask,
  urlOf: (sandbox: string) => string,
): AppConversationStartTask {
  const { status, detail, sandbox, steps } = record
  const started = status === 'READY' || status === 'STARTING_CONVERSATION'
  return {
    id: hexUuid(id),
    created_by_user_id: null,
    status,
    detail,
    app_conversation_id: status === 'READY' ? hexUuid(conversation) : null,
    sandbox_id: sandbox,
    agent_server_url: started && sandbox !== null ? urlOf(sandbox) : null,
    request: shownRequest(record.request),
    steps,
    created_at: utc(createdAt),
    updated_at: utc(updatedAt),
  }
}

const utc = (at: Micros): string => formatUtc(at)

function shownRequest(request: AppConversationStartRequest): AppConversationStartRequest {
  const { parent_conversation_id: parent, plugins, ...rest } = masked(AppConversationStartRequest, request)
  return {
    ...rest,
    parent_conversation_id: parent && hexUuid(parent),
    plugins: plugins === null ? null : plugins.map(plugin => ({ ...plugin, source: withoutUser(plugin.source) })),
  }
}

/** Who signs in to fetch something is nobody else's business. */
const withoutUser = (url: string): string => url.replace(/^(\w+:\/\/)[^/@]*@/, '$1****@')
