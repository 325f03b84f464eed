import * as z from 'zod'

export const HealthStatus = z.object({ status: z.string() }).meta({ id: 'HealthStatus' })

/** `version` is the level of the interface that clients gate on; `gantry_version` is ours. */
export const ServerInfo = z
  .object({
    uptime: z.number(),
    idle_time: z.number(),
    title: z.string(),
    version: z.string(),
    gantry_version: z.string(),
    sdk_version: z.string(),
    tools_version: z.string(),
    workspace_version: z.string(),
    build_git_sha: z.string(),
    build_git_ref: z.string(),
    python_version: z.string(),
    usable_tools: z.array(z.string()),
    runtime_idle_timeout_seconds: z.number().nullable(),
    capabilities: z.array(z.string()),
    max_foreground_terminal_timeout_seconds: z.number().nullable(),
    /** Whether commands are walled off from this machine, and by what. */
    isolated: z.boolean(),
    isolation: z.string(),
    docs: z.string(),
    redoc: z.string(),
  })
  .meta({ id: 'ServerInfo' })
export type ServerInfo = z.output<typeof ServerInfo>

export const SignInRequest = z
  .object({ token: z.string().optional(), key: z.string().optional() })
  .meta({ id: 'SignInRequest' })

export const SignInToken = z.object({ token: z.string() }).meta({ id: 'SignInToken' })
