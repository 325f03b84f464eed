import { objections } from '../agent/toolbox.ts'
import { AgentSettings, agentFromSettings } from '../api/agent.ts'
import {
  type ActivateAgentProfileResponse,
  AgentProfile,
  AgentProfileDiagnostics,
  type AgentProfileListResponse,
  type AgentProfileMutationResponse,
  MAX_AGENT_PROFILES,
  type SaveAgentProfileRequest,
} from '../api/agent-profiles.ts'
import type { LaunchedAgentProfile } from '../api/conversations.ts'
import { fault } from '../api/errors.ts'
import { canonicalUuid, newId } from '../lib/id.ts'
import { Turns } from '../lib/turns.ts'
import { masked, openAll, type Vault } from '../policy/secrets.ts'
import type { Store } from '../store/store.ts'
import { builtInAgentProfile, DEFAULT, DEFAULT_ID } from './agent-profile-built-in.ts'
import { serversFor, settingsFrom } from './agent-profile-settings.ts'
import type { FullSettings } from './document.ts'
import type { LlmProfiles } from './profiles.ts'
import type { SettingsService } from './settings.ts'
import { StoredDocument } from './stored-document.ts'
import { presentable } from './view.ts'

export interface AgentProfilesParts {
  store: Store
  vault: Vault
  settings: SettingsService
  profiles: LlmProfiles
  /** The names of the skills that every conversation may have. */
  skillNames(): Promise<string[]>
}

/** What a conversation is started with. */
export interface Launch {
  /** With secrets as they are. */
  settings: AgentSettings
  launched: LaunchedAgentProfile
}

type StoredProfiles = Readonly<Record<string, AgentProfile>>

const ACP = 'Agents of kind ACP cannot be run by this server'

/** Ways to be an agent, by name. They hold no secrets: they name LLM profiles and MCP servers, which are looked up at each start. */
export class AgentProfiles {
  readonly #parts: AgentProfilesParts
  readonly #document: StoredDocument<StoredProfiles>
  /** What concerns the settings too is done one after the other. */
  readonly #turns = new Turns()

  constructor(parts: AgentProfilesParts) {
    this.#parts = parts
    this.#document = new StoredDocument(parts.store, 'agent_profiles', {})
  }

  async list(): Promise<AgentProfileListResponse> {
    const { all, active } = await this.#look()
    const profiles = [...all.values()].map(profile => ({
      id: profile.id,
      name: profile.name,
      agent_kind: profile.agent_kind,
      revision: profile.revision,
      llm_profile_ref: profile.agent_kind === 'acp' ? null : profile.llm_profile_ref,
      mcp_server_refs: profile.mcp_server_refs,
    }))
    return { profiles: profiles.sort((a, b) => (a.name < b.name ? -1 : 1)), active_agent_profile_id: active.id }
  }

  async get(name: string): Promise<AgentProfile> {
    return named((await this.#look()).all, name)
  }

  async save(name: string, given: SaveAgentProfileRequest): Promise<AgentProfileMutationResponse> {
    const id = newId()
    await this.#document.update(stored => {
      const old = own(stored, name)
      if (!old && Object.keys(stored).length >= MAX_AGENT_PROFILES)
        throw fault('agent_profile_limit', MAX_AGENT_PROFILES)
      const identity = old ? { id: old.id, revision: old.revision + 1 } : { id, revision: 0 }
      return { ...stored, [name]: { ...given, ...identity, name } }
    })
    return { name, message: `Agent profile '${name}' saved` }
  }

  delete(name: string): Promise<AgentProfileMutationResponse> {
    return this.#turns.take('profiles', async () => {
      const { settings } = this.#parts
      let gone: AgentProfile | undefined
      await this.#document.update(stored => {
        gone = own(stored, name)
        const { [name]: _, ...others } = stored
        return others
      })
      const { active_agent_profile_id } = await settings.full()
      if (gone && gone.id === active_agent_profile_id) await settings.update({ active_agent_profile_id: null })
      return { name, message: gone ? `Agent profile '${name}' deleted` : `No agent profile '${name}' is stored` }
    })
  }

  rename(name: string, newName: string): Promise<AgentProfileMutationResponse> {
    return this.#turns.take('profiles', async () => {
      const { active } = await this.#look()
      // One that is active for its name alone would cease to be.
      if (active.name === name && active.id !== DEFAULT_ID) await this.#point(active.id)
      await this.#document.update(stored => {
        const profile = own(stored, name)
        if (!profile)
          throw name === DEFAULT ? fault('agent_profile_built_in', name) : fault('agent_profile_not_found', name)
        if (name === newName) return stored
        if (Object.hasOwn(stored, newName)) throw fault('agent_profile_exists', newName)
        const { [name]: _, ...others } = stored
        return { ...others, [newName]: { ...profile, name: newName } }
      })
      return { name: newName, message: `Agent profile '${name}' renamed to '${newName}'` }
    })
  }

  activate(id: string): Promise<ActivateAgentProfileResponse> {
    return this.#turns.take('profiles', async () => {
      const profile = byId((await this.#look()).all, id)
      if (!profile) throw fault('agent_profile_not_found', id)
      await this.#point(profile.id)
      return { id: profile.id, message: `Agent profile '${profile.name}' activated`, agent_settings_applied: false }
    })
  }

  /** Without `trusted`, the MCP servers are left out: they come with secrets that somebody else entered. */
  async resolve(id: string, trusted: boolean): Promise<Launch> {
    const { all, full } = await this.#look()
    const profile = byId(all, id)
    if (!profile) throw fault('agent_profile_not_found', id)
    if (profile.agent_kind === 'acp') throw fault('invalid_request', ACP)
    const { servers, dangling } = serversFor(profile.mcp_server_refs, full.agent_settings.mcp_config)
    if (dangling.length > 0) {
      const refusal = fault('mcp_servers_dangling', dangling)
      refusal.more = { dangling_mcp_server_refs: dangling }
      throw refusal
    }
    const llm = await this.#parts.profiles.llm(profile.llm_profile_ref)
    const settings = settingsFrom(profile, { llm, servers: trusted ? servers : {}, criticKey: criticKey(full) })
    return {
      settings: openAll(this.#parts.vault, AgentSettings, settings),
      launched: { agent_profile_id: profile.id, revision: profile.revision },
    }
  }

  /** What a person's order is carried out by: the profile it names, or the active one. Undefined: by the settings as they are. */
  async forOrder(id: string | null, trusted: boolean): Promise<Launch | undefined> {
    if (id !== null) return this.resolve(id, trusted)
    const { active } = await this.#look()
    return active.id === DEFAULT_ID ? undefined : this.resolve(active.id, trusted)
  }

  async materialize(name: string): Promise<AgentProfileDiagnostics> {
    const { all, full } = await this.#look()
    const profile = named(all, name)
    const { agent_kind, mcp_server_refs } = profile
    const { servers, dangling } = serversFor(mcp_server_refs, full.agent_settings.mcp_config)
    const errors = dangling.map(key => `There is no MCP server '${key}'`)
    const found = {
      agent_kind,
      mcp_server_refs,
      resolved_mcp_config_keys: Object.keys(servers),
      dangling_mcp_server_refs: dangling,
    }
    if (profile.agent_kind === 'acp') return AgentProfileDiagnostics.parse({ ...found, errors: [...errors, ACP] })

    const { profiles, skillNames } = this.#parts
    const { llm_profile_ref, disabled_skills } = profile
    const llm = await profiles.llm(llm_profile_ref).catch(() => undefined)
    if (!llm) errors.push(`There is no LLM profile '${llm_profile_ref}'`)
    const settings = llm && settingsFrom(profile, { llm, servers, criticKey: criticKey(full) })
    if (settings) errors.push(...objections(agentFromSettings(settings)))
    const valid = errors.length === 0
    return AgentProfileDiagnostics.parse({
      ...found,
      errors,
      valid,
      llm_profile_ref,
      llm_profile_resolved: llm !== undefined,
      llm_api_key_set: llm !== undefined && (await profiles.isReady(llm)),
      disabled_skills,
      resolved_skills: (await skillNames()).filter(skill => !disabled_skills.includes(skill)),
      resolved_settings: valid && settings ? presentable(masked(AgentSettings, settings)) : null,
    })
  }

  /** The stored ones that name an LLM profile. */
  async using(llm: string): Promise<string[]> {
    const stored = [...(await this.#stored()).values()]
    return stored.flatMap(profile => (refersTo(profile, llm) ? [profile.name] : []))
  }

  /** An LLM profile has another name: it is the same, and so are those that name it. */
  async follow(from: string, to: string): Promise<void> {
    await this.#document.update(stored =>
      Object.fromEntries(
        Object.entries(stored).map(([name, profile]) => [
          name,
          refersTo(profile, from) ? { ...profile, llm_profile_ref: to } : profile,
        ]),
      ),
    )
  }

  async #look(): Promise<{ all: ReadonlyMap<string, AgentProfile>; active: AgentProfile; full: FullSettings }> {
    const { settings, profiles } = this.#parts
    const [stored, full, { active_profile }] = await Promise.all([this.#stored(), settings.full(), profiles.list()])
    const builtIn = builtInAgentProfile(full.agent_settings, active_profile ?? DEFAULT)
    const all = new Map([[DEFAULT, builtIn], ...stored])
    return { all, full, active: byId(all, full.active_agent_profile_id ?? DEFAULT_ID) ?? all.get(DEFAULT)! }
  }

  /** One that cannot be read is left out: the others must not be lost with it. */
  async #stored(): Promise<ReadonlyMap<string, AgentProfile>> {
    const profiles = Object.entries(await this.#document.read()).map(
      ([name, profile]) => [name, AgentProfile.safeParse(profile)] as const,
    )
    return new Map(profiles.flatMap(([name, { data }]) => (data ? [[name, data]] : [])))
  }

  async #point(id: string): Promise<void> {
    await this.#parts.settings.update({ active_agent_profile_id: id })
  }
}

function named(all: ReadonlyMap<string, AgentProfile>, name: string): AgentProfile {
  const profile = all.get(name)
  if (!profile) throw fault('agent_profile_not_found', name)
  return profile
}

function byId(all: ReadonlyMap<string, AgentProfile>, given: string): AgentProfile | undefined {
  const id = canonicalUuid(given)
  const found = [...all.values()].find(profile => profile.id === id)
  return found ?? (id === DEFAULT_ID ? all.get(DEFAULT) : undefined)
}

const refersTo = (profile: AgentProfile, llm: string): boolean =>
  profile.agent_kind === 'openhands' && profile.llm_profile_ref === llm

const criticKey = ({ agent_settings: settings }: FullSettings): string | null =>
  settings.agent_kind === 'acp' ? null : settings.verification.critic_api_key

/** Names such as `constructor` are only names. */
const own = (stored: StoredProfiles, name: string): AgentProfile | undefined =>
  Object.hasOwn(stored, name) ? stored[name] : undefined
