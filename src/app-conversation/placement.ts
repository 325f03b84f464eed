import { posix } from 'node:path'
import type { SandboxGroupingStrategy } from '../api/app-settings.ts'
import type { Settings } from '../api/settings.ts'
import type { SandboxSpec } from '../sandbox/specs.ts'

/** Conversations that share a sandbox share its memory, its files and its end. */
export const CONVERSATIONS_PER_SANDBOX = 20

/** A running sandbox that a new conversation might join. */
export interface Candidate {
  id: string
  createdAt: number
  lastUsed: number
  /** Those that are in it, and those on their way. */
  conversations: number
}

/** The sandbox that takes a new conversation; undefined for one of its own. */
export function chooseSandbox(strategy: SandboxGroupingStrategy, candidates: readonly Candidate[]): string | undefined {
  const first = order[strategy]
  if (!first) return undefined
  const roomy = candidates.filter(({ conversations }) => conversations < CONVERSATIONS_PER_SANDBOX)
  return roomy.toSorted((a, b) => first(a, b) || b.createdAt - a.createdAt)[0]?.id
}

const order: Record<SandboxGroupingStrategy, ((a: Candidate, b: Candidate) => number) | undefined> = {
  NO_GROUPING: undefined,
  GROUP_BY_NEWEST: (a, b) => b.createdAt - a.createdAt,
  LEAST_RECENTLY_USED: (a, b) => a.lastUsed - b.lastUsed,
  FEWEST_CONVERSATIONS: (a, b) => a.conversations - b.conversations,
  ADD_TO_ANY: () => 0,
}

/** What the settings make of a spec: another image, and more of everything. */
export function specFor(spec: SandboxSpec, settings: Settings): SandboxSpec {
  const { sandbox_runtime_container_image: runtime, sandbox_base_container_image: base } = settings
  const image = runtime || base || undefined
  const factor = Math.max(settings.remote_runtime_resource_factor ?? 1, 1)
  return {
    ...spec,
    ...(image && { image, backend: 'docker' as const }),
    memory_mb: spec.memory_mb * factor,
    cpus: spec.cpus * factor,
    processes: spec.processes * factor,
    disk_mb: spec.disk_mb * factor,
  }
}

/** Where a conversation works: in a folder of its own where it is not alone, and in one named like its repository. */
export function folderFor(
  workingDir: string,
  { alone, id, repository }: { alone: boolean; id: string; repository: string | null },
): string {
  const own = alone ? workingDir : posix.join(workingDir, id)
  return repository === null ? own : posix.join(own, repositoryName(repository))
}

export const repositoryName = (repository: string): string => posix.basename(repository).replace(/\.git$/, '')
