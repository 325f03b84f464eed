import * as z from 'zod'
import { anyMap, dateTimeOut, textOrNull } from './common.ts'

const no = z.boolean().default(false)
const yes = z.boolean().default(true)

/** What a page shows and hides. */
export const WebClientFeatureFlags = z
  .object({
    enable_billing: no,
    hide_llm_settings: no,
    enable_jira: no,
    enable_jira_dc: no,
    enable_linear: no,
    hide_users_page: no,
    hide_billing_page: no,
    hide_integrations_page: no,
    hide_personal_workspaces: no,
    allow_user_llm_configuration: yes,
    enable_acp: yes,
    deployment_mode: z.enum(['cloud', 'self_hosted']).nullable().default(null),
    enable_onboarding: no,
    enable_automations: yes,
    enable_agent_canvas_banner: no,
  })
  .meta({ id: 'WebClientFeatureFlags' })

export const WebClientConfig = z
  .object({
    app_mode: z.enum(['oss', 'saas']).meta({ id: 'AppMode' }),
    posthog_client_key: textOrNull,
    feature_flags: WebClientFeatureFlags,
    providers_configured: z.array(z.string()).meta({ description: 'With which a person can sign in' }),
    maintenance_start_time: dateTimeOut.nullable().default(null),
    auth_url: textOrNull,
    recaptcha_site_key: textOrNull,
    faulty_models: z.array(z.string()),
    error_message: textOrNull,
    updated_at: dateTimeOut,
    github_app_slug: textOrNull,
    gitlab_enabled: no,
    provider_default_hosts: z.record(z.string(), z.string()).default({}),
    slack_enabled: no,
    email_enabled: no,
    email_change_enabled: yes,
    acp_providers: z.array(anyMap).default([]),
    jira_dc_oauth_host: textOrNull,
    jira_dc_service_account_managed: no,
    jira_dc_service_account_email: textOrNull,
    jira_dc_service_account_config_error: textOrNull,
    kind: z.literal('WebClientConfig').default('WebClientConfig'),
  })
  .meta({ id: 'WebClientConfig' })
export type WebClientConfig = z.output<typeof WebClientConfig>

/** What the flat generation's pages ask for instead. */
export const ConfigOptions = z
  .object({
    APP_MODE: z.string(),
    GITHUB_CLIENT_ID: z.string(),
    POSTHOG_CLIENT_KEY: z.string(),
    FEATURE_FLAGS: z.object({ ENABLE_BILLING: z.boolean(), HIDE_LLM_SETTINGS: z.boolean() }),
  })
  .meta({ id: 'ConfigOptions' })
export type ConfigOptions = z.output<typeof ConfigOptions>
