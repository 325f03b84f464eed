import * as z from 'zod'
import type { BackendName, Egress, Limits } from './sandbox.ts'

const MiB = 1024 * 1024
const name = /^[A-Za-z_][A-Za-z0-9_]*$/

/** A template for sandboxes, as it stands in the configuration. */
export const SandboxSpec = z
  .strictObject({
    id: z.string().min(1).max(256),
    /** Unless given: `docker` where there is an image, otherwise `local`. */
    backend: z.enum(['local', 'docker', 'process']).optional(),
    image: z.string().min(1).optional(),
    command: z.array(z.string()).min(1).optional(),
    working_dir: z.string().startsWith('/').default('/workspace/project'),
    env: z.record(z.string().regex(name), z.string()).default({}),
    memory_mb: z.int().min(32).default(4096),
    processes: z.int().min(16).default(1024),
    cpus: z.number().min(0.05).default(2),
    disk_mb: z.int().min(16).default(10_240),
    network: z.enum(['none', 'hosts', 'open']).default('open'),
    /** What may be reached beyond the mode: names, `*.name`, addresses, each optionally with `:port`. */
    hosts: z.array(z.string().min(1)).default([]),
    /** Paused after so long without use; 0 is never. */
    idle_seconds: z.int().min(0).default(1800),
    /** Deleted after so long without use; 0 is never. */
    delete_after_seconds: z.int().min(0).default(0),
    /** Of the container engine, for instance `runsc`. */
    runtime: z.string().min(1).optional(),
  })
  .refine(({ backend, image }) => backend !== 'docker' || image !== undefined, 'a docker spec needs an image')

export type SandboxSpec = z.output<typeof SandboxSpec>

export const DEFAULT_SPECS: SandboxSpec[] = [SandboxSpec.parse({ id: 'local' })]

export const backendOf = ({ backend, image }: SandboxSpec): BackendName => backend ?? (image ? 'docker' : 'local')

export const limitsOf = ({ memory_mb, processes, cpus, disk_mb }: SandboxSpec): Limits => ({
  memoryBytes: memory_mb * MiB,
  processes,
  cpus,
  diskBytes: disk_mb * MiB,
})

export const egressOf = ({ network, hosts }: SandboxSpec): Egress =>
  network === 'none' ? { mode: 'none' } : { mode: network, hosts }
