import { fault } from '../api/errors.ts'
import type { Remote } from '../git-providers/remote.ts'
import { type Outcome, run } from '../sandbox/run.ts'
import type { Egress, Sandbox } from '../sandbox/sandbox.ts'
import { credentialConfig, credentialEnv } from './credential.ts'
import { failure } from './failure.ts'
import { type RepositoryLimits, SAID_BYTES } from './limits.ts'

/** Where a preparation works, and what bounds and ends it. */
export interface Bench {
  sandbox: Sandbox
  signal: AbortSignal
  limits: RepositoryLimits
  egress: Egress | undefined
  remote: Remote | null
}

/**
 * Neither what a repository brings nor what an agent left in the sandbox has a say: no configuration but the repository's own, of
 * which nothing is run, no question to a person, and no way to a server but these two.
 */
const ENV = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '',
  SSH_ASKPASS: '',
  GIT_ALLOW_PROTOCOL: 'https:http',
  GIT_LFS_SKIP_SMUDGE: '1',
  GIT_TRACE_REDACT: '1',
  GIT_PAGER: 'cat',
  // Complaints are recognised by their words.
  LC_ALL: 'C',
}

const CONFIG: readonly (readonly [string, string])[] = [
  ['safe.directory', '*'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.alternateRefsCommand', 'false'],
  ['core.sshCommand', 'false'],
  ['credential.helper', ''],
  ['init.defaultBranch', 'main'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['fetch.writeCommitGraph', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.detachedHead', 'false'],
  ['http.lowSpeedLimit', '1'],
]

const environment = (config: readonly (readonly [string, string])[]): Record<string, string> => ({
  ...ENV,
  GIT_CONFIG_COUNT: `${config.length}`,
  ...Object.fromEntries(
    config.flatMap(([key, value], i) => [
      [`GIT_CONFIG_KEY_${i}`, key],
      [`GIT_CONFIG_VALUE_${i}`, value],
    ]),
  ),
})

/** Runs git without the network, as it is; how it ended is for the caller to judge. */
export async function tryGit(bench: Bench, folder: string, args: readonly string[]): Promise<Outcome> {
  return say(bench, ['git', '-C', folder, ...args], { env: environment(CONFIG), timeoutMs: bench.limits.localMs })
}

/** The same where it must succeed: what it printed. */
export async function git(bench: Bench, folder: string, args: readonly string[]): Promise<string> {
  return told(bench, await tryGit(bench, folder, args), null)
}

/** Runs git against the remote, with what opens it in the environment of this one command. What it printed. */
export async function gitOverNetwork(bench: Bench, remote: Remote, args: readonly string[]): Promise<string> {
  const { fetchMs, stallSeconds } = bench.limits
  const config = [...CONFIG, ['http.lowSpeedTime', `${stallSeconds}`] as const, ...credentialConfig(remote)]
  const env = { ...environment(config), ...credentialEnv(remote) }
  return told(bench, await say(bench, ['git', ...args], { env, timeoutMs: fetchMs }), remote)
}

/** A script for a POSIX shell, `words` being its parameters, in which git is as careful as elsewhere here. */
export async function script(bench: Bench, text: string, words: readonly string[]): Promise<string> {
  const argv = ['/bin/sh', '-c', text, 'sh', ...words] as const
  return told(bench, await say(bench, argv, { env: environment(CONFIG), timeoutMs: bench.limits.localMs }), null)
}

async function say(
  { sandbox, signal, egress }: Bench,
  argv: readonly [string, ...string[]],
  { env, timeoutMs }: { env: Record<string, string>; timeoutMs: number },
): Promise<Outcome> {
  const command = {
    argv,
    env,
    timeoutMs,
    signal,
    cwd: '/',
    label: 'preparing the repository',
    ...(egress && { egress }),
  }
  const outcome = await run(sandbox, command, { limit: SAID_BYTES })
  signal.throwIfAborted()
  if (outcome.code === 127) throw fault('repository_failed', 'There is no git in the sandbox')
  return outcome
}

/** What was said; otherwise why not, which may lie with the host that was asked. */
function told({ limits }: Bench, outcome: Outcome, asked: Remote | null): string {
  const { code, reason, overflow, stdout } = outcome
  if (code !== 0 || reason !== 'exited' || overflow) throw failure(outcome, asked, limits)
  return stdout.toString('utf8')
}
