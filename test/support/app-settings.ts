import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { probe } from '../../src/agent/mcp.ts'
import { makeOpenModel } from '../../src/agent/models/open.ts'
import { appProfileRoutes } from '../../src/api/routes/app-profiles.ts'
import { appSettingsRoutes } from '../../src/api/routes/app-settings.ts'
import { customSecretRoutes } from '../../src/api/routes/custom-secrets.ts'
import { profileRoutes } from '../../src/api/routes/profiles.ts'
import { providerTokenRoutes } from '../../src/api/routes/provider-tokens.ts'
import { settingsRoutes } from '../../src/api/routes/settings.ts'
import { Auth } from '../../src/http/auth.ts'
import { appProfileHandlers } from '../../src/http/handlers/app-profiles.ts'
import { appSettingsHandlers } from '../../src/http/handlers/app-settings.ts'
import { customSecretHandlers } from '../../src/http/handlers/custom-secrets.ts'
import { profileHandlers } from '../../src/http/handlers/profiles.ts'
import { providerTokenHandlers } from '../../src/http/handlers/provider-tokens.ts'
import { settingsHandlers } from '../../src/http/handlers/settings.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { originPolicy } from '../../src/http/origin.ts'
import { HttpServer } from '../../src/http/server.ts'
import { makeLog } from '../../src/lib/log.ts'
import { Vault } from '../../src/policy/secrets.ts'
import { AppProfiles } from '../../src/settings/app-profiles.ts'
import { openProfiles } from '../../src/settings/open-profiles.ts'
import type { CheckToken } from '../../src/settings/provider-tokens.ts'
import { SettingsService } from '../../src/settings/settings.ts'
import { SqliteStore } from '../../src/store/sqlite.ts'
import { tempFolder } from './server.ts'

const KEY = 'the key of the server'
const nobody = async () => undefined

/** Both generations of settings, profiles and secrets over one real store, behind the real HTTP layer. */
export async function serveSettings({ check = nobody }: { check?: CheckToken } = {}) {
  const folder = await tempFolder()
  const store = SqliteStore.open(join(folder, 'gantry.db'))
  const vault = new Vault('a secret key for tests')
  const settings = new SettingsService(store, vault)
  const openModel = makeOpenModel({ fetch })
  const { profiles } = openProfiles({ store, vault, settings, openModel, skillNames: async () => [] })
  const appProfiles = new AppProfiles({ profiles, settings, vault })
  const lines: string[] = []
  const http = new HttpServer({
    auth: new Auth([KEY], 'local'),
    origins: originPolicy([], []),
    log: makeLog('debug', line => lines.push(line)),
    metrics: new Metrics(),
    hasSandbox: () => true,
    opened: Promise.resolve(),
    draining: () => false,
  })
  const sandbox = () => Promise.reject(new Error('there is no sandbox'))
  http.serve(settingsRoutes, settingsHandlers(settings, profiles))
  http.serve(profileRoutes, profileHandlers({ profiles, switchLlm: nobody }))
  http.serve(appProfileRoutes, appProfileHandlers(appProfiles))
  http.serve(providerTokenRoutes, providerTokenHandlers(settings, check))
  http.serve(customSecretRoutes, customSecretHandlers(settings.secrets))
  http.serve(
    appSettingsRoutes,
    appSettingsHandlers({
      settings,
      profiles: appProfiles,
      tryMcpServer: async (name, server, timeoutMs) =>
        (await probe(server, { name, timeoutMs, sandbox, workingDir: '/workspace', fetch })).ok,
    }),
  )
  const server = createServer((incoming, out) => http.handle(incoming, out))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = async (method: string, path: string, body?: unknown, more: Record<string, string> = {}, key = KEY) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...more, ...(key && { 'X-Session-API-Key': key }), 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('Content-Type')?.startsWith('application/json')
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers as they please
    return { status: response.status, text, json: (isJson ? JSON.parse(text) : undefined) as any }
  }
  return {
    folder,
    store,
    settings,
    lines,
    ask,
    post: (body: unknown) => ask('POST', '/api/v1/settings', body),
    get: async () => (await ask('GET', '/api/v1/settings')).json,
    /** All that is stored, secrets readable. */
    plain: async () => (await ask('GET', '/api/settings', undefined, { 'X-Expose-Secrets': 'plaintext' })).json,
    profile: (name: string, what = '') => `/api/v1/settings/profiles/${name}${what && `/${what}`}`,
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections()
      await store.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
