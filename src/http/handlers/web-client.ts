import type { webClientRoutes } from '../../api/routes/web-client.ts'
import { WebClientConfig } from '../../api/web-client.ts'
import type { Handlers } from '../server.ts'

/** `updatedAt`: since when this is so, in UTC. What is not named is off, or as pages assume. */
export function webClientHandlers(updatedAt: string): Handlers<typeof webClientRoutes> {
  const config = WebClientConfig.parse({
    app_mode: 'oss',
    feature_flags: {
      hide_users_page: true,
      hide_billing_page: true,
      enable_acp: false,
      deployment_mode: 'self_hosted',
      enable_automations: false,
    },
    providers_configured: [],
    faulty_models: [],
    updated_at: updatedAt,
    email_change_enabled: false,
  })
  return {
    getWebClientConfig: () => config,
    getConfigOptions: () => ({
      APP_MODE: config.app_mode,
      GITHUB_CLIENT_ID: '',
      POSTHOG_CLIENT_KEY: '',
      FEATURE_FLAGS: {
        ENABLE_BILLING: config.feature_flags.enable_billing,
        HIDE_LLM_SETTINGS: config.feature_flags.hide_llm_settings,
      },
    }),
  }
}
