import type { OpenModel } from '../agent/model.ts'
import { fault } from '../api/errors.ts'
import { LLM } from '../api/llm.ts'
import {
  type ActivateProfileResponse,
  MAX_PROFILES,
  type ProfileDetailResponse,
  type ProfileInfo,
  type ProfileListResponse,
  type ProfileMutationResponse,
  type SaveProfileRequest,
  type ValidateProfileResponse,
} from '../api/profiles.ts'
import { mapSecrets } from '../api/secret.ts'
import { Turns } from '../lib/turns.ts'
import { openAll, type Vault, withoutSecrets } from '../policy/secrets.ts'
import type { Store } from '../store/store.ts'
import { secretsOf } from './document.ts'
import { unmask } from './merge.ts'
import { builtIn, DEFAULT, DEMO, hasKey, isChosen } from './profile-built-in.ts'
import { checkLlm } from './profile-check.ts'
import type { ProviderConnections } from './provider-connections.ts'
import type { SettingsService } from './settings.ts'
import { StoredDocument } from './stored-document.ts'
import { exposureOf, shown } from './view.ts'

export interface LlmProfilesParts {
  store: Store
  vault: Vault
  settings: SettingsService
  openModel: OpenModel
  connections: ProviderConnections
  /** The agent profiles that name a profile. */
  referrers: { of(profile: string): Promise<string[]>; rename(from: string, to: string): Promise<void> }
}

interface StoredProfile {
  /** Sealed. */
  llm: LLM
  created_at: string
  updated_at: string
}
type StoredProfiles = Readonly<Record<string, StoredProfile>>

/** LLMs by name. The settings hold a copy of the active one: a change reaches them when it is activated again. */
export class LlmProfiles {
  readonly #parts: LlmProfilesParts
  readonly #document: StoredDocument<StoredProfiles>
  /** What concerns the settings too is done one after the other. */
  readonly #turns = new Turns()

  constructor(parts: LlmProfilesParts) {
    this.#parts = parts
    this.#document = new StoredDocument(parts.store, 'profiles', {})
  }

  async list(): Promise<ProfileListResponse> {
    const { stored, active, ofSettings } = await this.#look()
    const connections = await this.#parts.connections.ids()
    const own = Object.entries(stored).map(([name, { llm }]) => info(name, llm, connections))
    const more = Object.hasOwn(stored, active) ? [] : [info(active, builtIn(active, ofSettings)!, connections)]
    const profiles = [...own, ...more].sort((a, b) => (a.name < b.name ? -1 : 1))
    return { profiles, active_profile: active }
  }

  /** `expose` is the header `X-Expose-Secrets`. */
  async get(name: string, expose?: string): Promise<ProfileDetailResponse> {
    const exposure = exposureOf(expose)
    const llm = await this.llm(name)
    const { fallback_strategy: _, ...config } = mapSecrets(LLM, llm, shown(this.#parts.vault, exposure))
    return {
      name,
      config: exposure === 'masked' ? { ...config, api_key: null } : config,
      api_key_set: await this.isReady(llm),
    }
  }

  /** Sealed. */
  async llm(name: string): Promise<LLM> {
    const llm = await this.#find(name)
    if (!llm) throw fault('llm_profile_not_found', name)
    return llm
  }

  /** Whether it can be asked. Takes it sealed. */
  async isReady(llm: LLM): Promise<boolean> {
    return info('', llm, await this.#parts.connections.ids()).api_key_set
  }

  /**
   * For a conversation that switches to it: its words come as they are said, and what it costs is counted under the name of the
   * profile. Sealed.
   */
  async forConversation(name: string): Promise<LLM> {
    return { ...(await this.llm(name)), stream: true, usage_id: `profile:${name}` }
  }

  async put(name: string, { llm, include_secrets }: SaveProfileRequest): Promise<ProfileMutationResponse> {
    const said = include_secrets ? llm : withoutSecrets(LLM, llm)
    const hidden = await this.#builtIn(name)
    await this.store(name, MAX_PROFILES, old => this.seal(said, old ?? hidden))
    return { name, message: `Profile '${name}' saved` }
  }

  /** `make` gets what is stored under that name, and gives what is to be, both sealed. No more than `limit` are stored. */
  async store(name: string, limit: number, make: (old: LLM | undefined) => LLM): Promise<void> {
    const at = new Date().toISOString()
    const connections = await this.#parts.connections.ids()
    await this.#document.update(stored => {
      const old = own(stored, name)
      if (!old && Object.keys(stored).length >= limit) throw fault('llm_profile_limit', limit)
      const llm = ofConnection(make(old?.llm))
      if (isBroken(llm, connections))
        throw fault('invalid_request', `There is no provider connection ${llm.provider_connection_id}`)
      return { ...stored, [name]: { llm, created_at: old?.created_at ?? at, updated_at: at } }
    })
  }

  delete(name: string): Promise<ProfileMutationResponse> {
    return this.#turns.take('profiles', async () => {
      await this.requireUnused(name)
      let was = false
      await this.#document.update(stored => {
        was = Object.hasOwn(stored, name)
        const { [name]: _, ...others } = stored
        return others
      })
      await this.#follow(name, null)
      return { name, message: was ? `Profile '${name}' deleted` : `No profile '${name}' is stored` }
    })
  }

  async requireUnused(name: string): Promise<void> {
    const users = await this.#parts.referrers.of(name)
    if (users.length > 0) throw fault('llm_profile_used', name, users.join(', '))
  }

  rename(name: string, newName: string): Promise<ProfileMutationResponse> {
    return this.#turns.take('profiles', async () => {
      const hidden = await this.#builtIn(name)
      await this.#document.update(stored => {
        const profile = own(stored, name)
        if (!profile && hidden) throw fault('llm_profile_built_in', name)
        if (!profile) throw fault('llm_profile_not_found', name)
        if (name === newName) return stored
        if (Object.hasOwn(stored, newName)) throw fault('llm_profile_exists', newName)
        const { [name]: _, ...others } = stored
        return { ...others, [newName]: profile }
      })
      await this.#parts.referrers.rename(name, newName)
      await this.#follow(name, newName)
      return { name: newName, message: `Profile '${name}' renamed to '${newName}'` }
    })
  }

  activate(name: string): Promise<ActivateProfileResponse> {
    return this.#turns.take('profiles', async () => {
      await this.#parts.settings.update({ active_profile: name }, await this.select(name))
      return { name, message: `Profile '${name}' activated`, llm_applied: true }
    })
  }

  /**
   * The LLM that the settings have to take to go by this profile, sealed; undefined when it is theirs already. A model that is in no
   * profile yet is stored as `default` first, even past the limit: its key would be lost.
   */
  async select(name: string): Promise<LLM | undefined> {
    const llm = await this.llm(name)
    const { stored, active, ofSettings } = await this.#look()
    if (active !== DEFAULT || Object.hasOwn(stored, DEFAULT)) return llm
    if (name === DEFAULT) return undefined
    const at = new Date().toISOString()
    await this.#document.update(now => ({ [DEFAULT]: { llm: ofSettings, created_at: at, updated_at: at }, ...now }))
    return llm
  }

  /** Masks become what `old` has in their place. A sealed text is random and never shown, so none can be forged. */
  seal(llm: LLM, old: LLM | undefined): LLM {
    const known = new Set(secretsOf(LLM, old))
    const unmasked = LLM.parse(unmask(llm, old))
    return mapSecrets(LLM, unmasked, value => (known.has(value) ? value : this.#parts.vault.sealOne(value)))
  }

  /** What somebody stored, sealed. One that cannot be read is left out: the others must not be lost with it. */
  async stored(): Promise<ReadonlyMap<string, LLM>> {
    const profiles = Object.entries(await this.#document.read()).map(
      ([name, { llm }]) => [name, LLM.safeParse(llm)] as const,
    )
    return new Map(profiles.flatMap(([name, { data }]) => (data ? [[name, data]] : [])))
  }

  /** Whether a model answers. Masks stand for the secrets of the profile of that name. */
  async check(name: string, llm: LLM): Promise<ValidateProfileResponse> {
    const sealed = await this.#parts.connections.connect(this.seal(llm, await this.#find(name)))
    return checkLlm(this.#parts.openModel, openAll(this.#parts.vault, LLM, sealed))
  }

  /** What takes its key from a provider connection, in words. */
  async connectedTo(id: string): Promise<string[]> {
    const { stored, ofSettings } = await this.#look()
    const users = Object.entries(stored).filter(([, { llm }]) => llm.provider_connection_id === id)
    const words = users.map(([name]) => `the profile '${name}'`)
    return ofSettings.provider_connection_id === id ? [...words, 'the settings'] : words
  }

  async #look(): Promise<{ stored: StoredProfiles; active: string; ofSettings: LLM }> {
    const [stored, { active_profile, agent_settings }] = await Promise.all([
      this.#document.read(),
      this.#parts.settings.full(),
    ])
    const ofSettings = agent_settings.llm
    const isStored = active_profile !== null && Object.hasOwn(stored, active_profile)
    return { stored, active: isStored ? active_profile : isChosen(ofSettings) ? DEFAULT : DEMO, ofSettings }
  }

  async #find(name: string): Promise<LLM | undefined> {
    const stored = own(await this.#document.read(), name)
    if (!stored) return this.#builtIn(name)
    const parsed = LLM.safeParse(stored.llm)
    if (!parsed.success) throw fault('record_damaged', `The profile '${name}'`)
    return parsed.data
  }

  async #builtIn(name: string): Promise<LLM | undefined> {
    return builtIn(name, (await this.#parts.settings.agentSettings()).llm)
  }

  /** What the settings call the active profile follows it. */
  async #follow(name: string, to: string | null): Promise<void> {
    const { settings } = this.#parts
    if ((await settings.full()).active_profile === name) await settings.update({ active_profile: to })
  }
}

const info = (name: string, llm: LLM, connections: ReadonlySet<string>): ProfileInfo => ({
  name,
  model: llm.model,
  base_url: llm.base_url,
  provider_connection_id: llm.provider_connection_id,
  provider_connection_broken: isBroken(llm, connections),
  api_key_set: hasKey(llm) && !isBroken(llm, connections),
})

const isBroken = ({ provider_connection_id: id }: LLM, connections: ReadonlySet<string>): boolean =>
  !!id && !connections.has(id)

/** What is connected has neither key nor address of its own: it would only disagree with those of the connection. */
const ofConnection = (llm: LLM): LLM => (llm.provider_connection_id ? { ...llm, api_key: null, base_url: null } : llm)

/** Names such as `constructor` are only names. */
const own = (stored: StoredProfiles, name: string): StoredProfile | undefined =>
  Object.hasOwn(stored, name) ? stored[name] : undefined
