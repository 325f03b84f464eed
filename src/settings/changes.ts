import { fault } from '../api/errors.ts'
import type { LLM } from '../api/llm.ts'
import type { MCPServer, MCPServerPatch } from '../api/mcp.ts'
import { MASK } from '../api/secret.ts'
import type { Settings, SettingsUpdateRequest } from '../api/settings.ts'
import type { ProviderToken, ProviderTokens, UserSecrets } from '../api/user-secrets.ts'
import type { SettingsDocument } from './document.ts'
import { type FlatField, settleFlat, writeFlat } from './mapping.ts'
import { fromLists, type Server, type Servers } from './mcp-lists.ts'
import { flatChange, isBlank, isPlain, mergeDeep, mergePatch, type Plain, unmask } from './merge.ts'
import { removeIn, setIn } from './paths.ts'

/** What each request makes of the stored document. Secrets that came with it are still plain: see `storable`. */

export function applyFlat(document: SettingsDocument, { secrets_store, mcp_config, ...fields }: Settings) {
  let next = document
  for (const [field, value] of Object.entries(fields)) {
    const change = flatChange(field, value)
    if (change !== 'keep') next = writeFlat(next, field as FlatField, change === 'reset' ? undefined : change.value)
  }
  if (mcp_config) next = withServers(next, fromLists(serversOf(next), mcp_config))
  if (secrets_store?.provider_tokens) {
    const provider_tokens = mergeTokens(next.provider_tokens, secrets_store.provider_tokens)
    next = { ...next, provider_tokens }
  }
  return next
}

/** `profile` is the LLM of the profile that `active_profile` names, with its secrets sealed. */
export function applyUpdate(
  document: SettingsDocument,
  request: SettingsUpdateRequest,
  profile: LLM | undefined,
): SettingsDocument {
  const { agent_settings_diff: agent, conversation_settings_diff: conversation, misc_settings_diff: misc } = request
  const said = [agent ?? undefined, conversation ?? undefined, misc ?? undefined]
  if ([...said, request.active_profile, request.active_agent_profile_id].every(part => part === undefined))
    throw fault('bad_request', 'Nothing to change: send at least one diff or active profile')
  let next = document
  if (profile && !Object.hasOwn(agent ?? {}, 'llm'))
    next = { ...next, agent_settings: { ...next.agent_settings, llm: profile } }
  if (request.active_profile !== undefined) next = { ...next, active_profile: request.active_profile }
  if (request.active_agent_profile_id !== undefined)
    next = { ...next, active_agent_profile_id: request.active_agent_profile_id }
  return mergeNested(next, { agent, conversation, misc })
}

interface Diffs {
  agent: Plain | null | undefined
  conversation: Plain | null | undefined
  misc?: Plain | null | undefined
}

export function mergeNested(document: SettingsDocument, { agent, conversation, misc }: Diffs): SettingsDocument {
  const { agent_settings, conversation_settings, misc_settings } = document
  const merged = (settings: Plain, diff: Plain) => mergeDeep(settings, unmask<Plain>(diff, settings))
  return settleFlat({
    ...document,
    ...(agent && { agent_settings: mergeAgent(agent_settings, agent) }),
    ...(conversation && { conversation_settings: merged(conversation_settings, conversation) }),
    ...(misc && { misc_settings: merged(misc_settings, misc) }),
  })
}

/** Another kind of agent starts from its own defaults. */
function mergeAgent(settings: Plain, diff: Plain): Plain {
  const changesKind = 'agent_kind' in diff && kindOf(diff) !== kindOf(settings)
  const said = removeIn(unmask(diff, settings), CLOCK)
  if (isPlain(said.mcp_config)) {
    const patches = Object.entries(said.mcp_config)
    const stored = (settings.mcp_config ?? {}) as Servers
    said.mcp_config = Object.fromEntries(patches.map(([key, patch]) => [key, keepingAuth(patch, stored[key])]))
  }
  return mergePatch(changesKind ? {} : settings, said)
}

/**
 * A credential arrives with null for all that was left out: its schema fills that in. So inside one that stays of its
 * kind null keeps, "" clears, and `auth: null` removes the whole.
 */
function keepingAuth<T>(patch: T, server: Server | undefined): T {
  if (!isPlain(patch) || !isPlain(patch.auth) || patch.auth.strategy !== server?.auth?.strategy) return patch
  return { ...patch, auth: mergePatch({}, patch.auth) }
}

/** The time of reading, not a setting: sent back with all the rest, it would stop the clock. */
const CLOCK = ['agent_context', 'current_datetime']

const kindOf = ({ agent_kind }: Plain) => (agent_kind === 'acp' ? 'acp' : 'openhands')

export function addServer(document: SettingsDocument, key: string, server: MCPServer): SettingsDocument {
  if (Object.hasOwn(serversOf(document), key)) throw fault('mcp_server_exists', key)
  return withServer(document, key, mergePatch({}, unmask<Plain>(server, undefined)))
}

export function patchServer(document: SettingsDocument, key: string, patch: MCPServerPatch): SettingsDocument {
  const server = serversOf(document)[key]
  if (!Object.hasOwn(serversOf(document), key)) throw fault('mcp_server_not_found', key)
  return withServer(document, key, mergePatch(server, keepingAuth(unmask<Plain>(patch, server), server)))
}

export function removeServer(document: SettingsDocument, key: string): SettingsDocument {
  if (!Object.hasOwn(serversOf(document), key)) throw fault('mcp_server_not_found', key)
  const { [key]: _, ...others } = serversOf(document)
  return withServers(document, others)
}

const serversOf = (document: SettingsDocument) => (document.agent_settings.mcp_config ?? {}) as Servers

const withServers = (document: SettingsDocument, servers: Servers): SettingsDocument => ({
  ...document,
  agent_settings: { ...document.agent_settings, mcp_config: servers },
})

const withServer = (document: SettingsDocument, key: string, server: Plain): SettingsDocument => ({
  ...document,
  agent_settings: setIn(document.agent_settings, ['mcp_config', key], server),
})

/** A provider without a token is none. */
function mergeTokens(stored: ProviderTokens, posted: NonNullable<UserSecrets['provider_tokens']>): ProviderTokens {
  const next = new Map(Object.entries(stored))
  for (const [provider, entry] of Object.entries(posted)) {
    if (entry === null) continue
    const { token, host, user_id } = typeof entry === 'string' ? { token: entry } : (entry as ProviderToken)
    const old = next.get(provider)
    const kept = token === undefined || token === null || token === MASK ? old?.token : token
    if (!kept || isBlank(kept)) next.delete(provider)
    else
      next.set(provider, {
        token: kept,
        host: host === undefined ? old?.host : host,
        user_id: user_id === undefined ? old?.user_id : user_id,
      })
  }
  return Object.fromEntries(next)
}
