import type { AgentSettings, ConversationSettings } from '../api/agent.ts'
import type { AppSettingsChange, AppSettingsResponse } from '../api/app-settings.ts'
import { fault } from '../api/errors.ts'
import { LLM } from '../api/llm.ts'
import { MCPServer, type MCPServerPatch } from '../api/mcp.ts'
import type { Settings, SettingsResponse, SettingsUpdateRequest } from '../api/settings.ts'
import { ProviderTokens } from '../api/user-secrets.ts'
import { openAll, type Vault } from '../policy/secrets.ts'
import type { Store } from '../store/store.ts'
import { applyApp, appSettingsResponse } from './app-settings.ts'
import { addServer, applyFlat, applyUpdate, patchServer, removeServer } from './changes.ts'
import {
  type FullSettings,
  fullSettings,
  NOTHING_SAID,
  type SettingsDocument,
  secretsOf,
  storable,
} from './document.ts'
import { replacedTokens } from './provider-tokens.ts'
import { StoredSecrets } from './secrets.ts'
import { StoredDocument } from './stored-document.ts'
import { exposureOf, settingsResponse } from './view.ts'

/** The user's settings: one document, read and written by both generations of the API. */
export class SettingsService {
  readonly secrets: StoredSecrets
  readonly #document: StoredDocument<SettingsDocument>
  readonly #vault: Vault

  constructor(store: Store, vault: Vault) {
    this.#document = new StoredDocument(store, 'settings', NOTHING_SAID)
    this.#vault = vault
    this.secrets = new StoredSecrets(store, vault, async () => (await this.#document.read()).provider_tokens)
  }

  /** `expose` is the header `X-Expose-Secrets`. */
  async get(expose?: string): Promise<SettingsResponse> {
    const exposure = exposureOf(expose)
    return settingsResponse(await this.#document.read(), this.#vault, exposure)
  }

  async store(flat: Settings): Promise<{ message: string }> {
    const secrets = this.secrets.changes(flat.secrets_store?.custom_secrets ?? {})
    await this.#change(document => applyFlat(document, flat))
    if (secrets.length > 0) await this.secrets.apply(secrets)
    return { message: 'Settings stored' }
  }

  /** `profile`: the sealed LLM of the profile that `active_profile` names; a name nobody knows is for the caller. */
  update(request: SettingsUpdateRequest, profile?: LLM): Promise<SettingsResponse> {
    return this.#change(document => applyUpdate(document, request, profile), secretsOf(LLM, profile))
  }

  async getApp(): Promise<Omit<AppSettingsResponse, 'llm_profiles'>> {
    return appSettingsResponse(await this.#document.read(), this.#vault)
  }

  async storeApp(change: AppSettingsChange): Promise<{ message: string }> {
    await this.#change(document => applyApp(document, change))
    return { message: 'Settings stored' }
  }

  /** Opened. */
  async providerTokens(): Promise<ProviderTokens> {
    return openAll(this.#vault, ProviderTokens, (await this.full()).provider_tokens)
  }

  async storeProviderTokens(posted: ProviderTokens): Promise<void> {
    await this.#change(document => ({
      ...document,
      provider_tokens: replacedTokens(document.provider_tokens, posted),
    }))
  }

  /** Opened. */
  async mcpServer(key: string): Promise<MCPServer> {
    const { mcp_config } = await this.agentSettings()
    if (!Object.hasOwn(mcp_config, key)) throw fault('mcp_server_not_found', key)
    return openAll(this.#vault, MCPServer, mcp_config[key]!)
  }

  createMcpServer(key: string, server: MCPServer): Promise<SettingsResponse> {
    return this.#change(document => addServer(document, key, server))
  }

  updateMcpServer(key: string, patch: MCPServerPatch): Promise<SettingsResponse> {
    return this.#change(document => patchServer(document, key, patch))
  }

  deleteMcpServer(key: string): Promise<SettingsResponse> {
    return this.#change(document => removeServer(document, key))
  }

  /** Everything, with defaults; secrets sealed. */
  async full(): Promise<FullSettings> {
    return fullSettings(await this.#document.read())
  }

  async agentSettings(): Promise<AgentSettings> {
    return (await this.full()).agent_settings
  }

  async conversationSettings(): Promise<ConversationSettings> {
    return (await this.full()).conversation_settings
  }

  async #change(
    change: (document: SettingsDocument) => SettingsDocument,
    sealed: readonly string[] = [],
  ): Promise<SettingsResponse> {
    const stored = await this.#document.update(document => storable(change(document), document, this.#vault, sealed))
    return settingsResponse(stored, this.#vault, 'masked')
  }
}
