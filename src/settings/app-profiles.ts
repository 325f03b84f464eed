import { isDeepStrictEqual } from 'node:util'
import {
  type ActivateAppProfileResponse,
  type AppProfileListResponse,
  MAX_APP_PROFILES,
  type SaveAppProfileRequest,
} from '../api/app-profiles.ts'
import type { LLMProfiles } from '../api/app-settings.ts'
import { fault } from '../api/errors.ts'
import { LLM } from '../api/llm.ts'
import type { ProfileDetailResponse, ProfileMutationResponse } from '../api/profiles.ts'
import { MASK } from '../api/secret.ts'
import { masked, openAll, type Vault, withoutSecrets } from '../policy/secrets.ts'
import { hasKey } from './profile-built-in.ts'
import type { LlmProfiles } from './profiles.ts'
import type { SettingsService } from './settings.ts'

export interface AppProfilesParts {
  profiles: LlmProfiles
  settings: SettingsService
  vault: Vault
}

/**
 * The same LLM profiles as the app server's generation sees them: only those that somebody stored, and one of them is active only
 * as long as the settings say what it says.
 */
export class AppProfiles {
  readonly #parts: AppProfilesParts

  constructor(parts: AppProfilesParts) {
    this.#parts = parts
  }

  async list(): Promise<AppProfileListResponse> {
    const { stored, active } = await this.#look()
    const profiles = stored.map(([name, llm]) => ({
      name,
      model: llm.model,
      base_url: llm.base_url,
      api_key_set: hasKey(llm),
    }))
    return { profiles, active_profile: active }
  }

  /** As the settings show them. */
  async shown(): Promise<LLMProfiles> {
    const { stored, active } = await this.#look()
    const shown = stored.map(([name, llm]) => {
      const { fallback_strategy: _, ...config } = masked(LLM, llm)
      return [name, config] as const
    })
    return { profiles: Object.fromEntries(shown), active }
  }

  async get(name: string): Promise<ProfileDetailResponse> {
    await this.#require(name)
    return this.#parts.profiles.get(name)
  }

  async save(name: string, request: SaveAppProfileRequest): Promise<ProfileMutationResponse> {
    const { profiles, settings } = this.#parts
    const { llm, include_secrets, preserve_existing_api_key } = request
    const ofSettings = (await settings.agentSettings()).llm
    await profiles.store(name, MAX_APP_PROFILES, old => {
      const sealed = llm ? profiles.seal({ ...llm, api_key: llm.api_key ?? MASK }, old) : ofSettings
      const kept = old && preserve_existing_api_key ? { ...sealed, api_key: old.api_key } : sealed
      return include_secrets ? kept : withoutSecrets(LLM, kept)
    })
    return { name, message: `Profile '${name}' saved` }
  }

  /** Whoever deletes the active one goes on with the first that is left. */
  async delete(name: string): Promise<ProfileMutationResponse> {
    const { stored, active } = await this.#look()
    await this.#parts.profiles.requireUnused(name)
    const next = stored.find(([other]) => other !== name)
    // First, else the model of the settings would be in no profile, and kept as one.
    if (active === name && next) await this.#parts.profiles.activate(next[0])
    await this.#parts.profiles.delete(name)
    return { name, message: `Profile '${name}' deleted` }
  }

  async activate(name: string): Promise<ActivateAppProfileResponse> {
    const { model } = await this.#require(name)
    await this.#parts.profiles.activate(name)
    return { name, message: `Switched to profile '${name}'`, model }
  }

  async rename(name: string, newName: string): Promise<ProfileMutationResponse> {
    await this.#require(name)
    return this.#parts.profiles.rename(name, newName)
  }

  /** By name, sealed. */
  async #look(): Promise<{ stored: [string, LLM][]; active: string | null }> {
    const { profiles, settings, vault } = this.#parts
    const [all, { active_profile, agent_settings }] = await Promise.all([profiles.stored(), settings.full()])
    const opened = (llm: LLM) => openAll(vault, LLM, llm)
    const named = active_profile === null ? undefined : all.get(active_profile)
    const isActive = named && isDeepStrictEqual(opened(named), opened(agent_settings.llm))
    const stored = [...all].sort(([a], [b]) => (a < b ? -1 : 1))
    return { stored, active: isActive ? active_profile : null }
  }

  async #require(name: string): Promise<LLM> {
    const llm = (await this.#parts.profiles.stored()).get(name)
    if (!llm) throw fault('llm_profile_not_found', name)
    return llm
  }
}
