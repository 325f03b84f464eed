import * as z from 'zod'
import { dateTimeOut, page } from './common.ts'

export const SandboxStatus = z.enum(['STARTING', 'RUNNING', 'PAUSED', 'ERROR', 'MISSING']).meta({ id: 'SandboxStatus' })
export type SandboxStatus = z.output<typeof SandboxStatus>

export const ExposedUrl = z.object({ name: z.string(), url: z.string(), port: z.int() }).meta({ id: 'ExposedUrl' })
export type ExposedUrl = z.output<typeof ExposedUrl>

export const SandboxInfo = z
  .object({
    id: z.string(),
    created_by_user_id: z.string().nullable(),
    sandbox_spec_id: z.string(),
    status: SandboxStatus,
    /** Only while it is running, and only to a caller with a key. */
    session_api_key: z.string().nullable(),
    /** Only while it is running. */
    exposed_urls: z.array(ExposedUrl).nullable(),
    created_at: dateTimeOut,
    /** What takes long, or why it does not run. */
    status_detail: z.string().nullable(),
  })
  .meta({ id: 'SandboxInfo' })
export type SandboxInfo = z.output<typeof SandboxInfo>
export const SandboxPage = page('SandboxPage', SandboxInfo)

export const SandboxSpecInfo = z
  .object({
    id: z.string(),
    command: z.array(z.string()).nullable(),
    created_at: dateTimeOut,
    initial_env: z.record(z.string(), z.string()),
    working_dir: z.string(),
  })
  .meta({ id: 'SandboxSpecInfo' })
export type SandboxSpecInfo = z.output<typeof SandboxSpecInfo>
export const SandboxSpecInfoPage = page('SandboxSpecInfoPage', SandboxSpecInfo)

/** What a person wants to know of a sandbox beside its state. */
export const SandboxReport = z
  .object({
    /** As it was measured last; null when it was not yet. */
    usage: z.object({ memory_bytes: z.int(), disk_bytes: z.int(), processes: z.int() }).nullable(),
    /** What it may use. */
    limits: z.object({ memory_bytes: z.int(), disk_bytes: z.int(), processes: z.int(), cpus: z.number() }),
    /** What it may reach. */
    egress: z.object({ mode: z.enum(['none', 'hosts', 'open']), hosts: z.array(z.string()) }),
    /** The last lines of what it printed while starting. */
    logs: z.string(),
    /** What it asked for and may not reach, the last first. */
    refused: z.array(
      z.object({
        host: z.string(),
        port: z.int(),
        why: z.string(),
        command: z.string().nullable(),
        count: z.int(),
        at: dateTimeOut,
      }),
    ),
  })
  .meta({ id: 'SandboxReport' })
export type SandboxReport = z.output<typeof SandboxReport>

export const SandboxPort = z
  .object({
    port: z.int(),
    /** What listens there, as far as it can be seen. */
    program: z.string().nullable(),
  })
  .meta({ id: 'SandboxPort' })
export type SandboxPort = z.output<typeof SandboxPort>

export const OpenedPort = z.object({ url: z.string() }).meta({ id: 'OpenedPort' })
