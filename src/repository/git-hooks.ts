import { fault } from '../api/errors.ts'
import { run } from '../sandbox/run.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { lastLines } from './failure.ts'
import { LOOK_MS } from './limits.ts'
import { BECOME, findScript, type ScriptOptions } from './project-script.ts'
import type { Step } from './repository.ts'

const FILE = '.openhands/pre-commit.sh'
/** In the wrapper, so that it is known again. */
const MARK = '# Runs what the project brings'

/**
 * Goes before every commit, in all worktrees of a repository: first what was there before it, then the project's script, as long as it
 * says what was approved.
 */
const WRAPPER = `#!/bin/sh
${MARK}: ${FILE}, as far as it was approved.
hooks=$(dirname -- "$0")
if [ -x "$hooks/pre-commit.local" ]; then "$hooks/pre-commit.local" "$@" || exit; fi
file=${FILE}
[ -f "$file" ] || exit 0
hash=$(sha256sum <"$file")
case $(cat "$hooks/pre-commit.approved") in
  *"\${hash%% *}"*) ;;
  *) echo "$file has changed since it was approved, and is not run" >&2; exit 0 ;;
esac
${BECOME}
`

/** wrapper, hash. A hook that is there is kept, once; the wrapper comes last, and at once. */
const INSTALL = `set -e
hooks=$(git rev-parse --git-path hooks)
mkdir -p -- "$hooks" 2>/dev/null && [ -w "$hooks" ] || { echo "$hooks"; exit 3; }
cd -- "$hooks"
touch pre-commit.approved
case $(cat pre-commit.approved) in *"$2"*) ;; *) printf '%s\\n' "$2" >>pre-commit.approved ;; esac
if [ -e pre-commit ]; then
  case $(head -n 2 pre-commit) in *"${MARK}"*) ;; *) mv -- pre-commit pre-commit.local ;; esac
fi
printf '%s' "$1" >.pre-commit.new
chmod +x .pre-commit.new
mv -f -- .pre-commit.new pre-commit`

/** Has `.openhands/pre-commit.sh` run before commits. */
export async function installGitHooks(sandbox: Sandbox, folder: string, options: ScriptOptions): Promise<Step> {
  const { signal } = options
  const found = await findScript(sandbox, folder, FILE, options)
  if (typeof found !== 'string') return found
  const argv = ['/bin/sh', '-c', INSTALL, 'sh', WRAPPER, found] as const
  const env = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' }
  const command = { argv, cwd: folder, env, timeoutMs: LOOK_MS, signal, label: FILE }
  const { code, stdout, stderr } = await run(sandbox, command, { limit: 16 * 1024 })
  signal.throwIfAborted()
  const said = lastLines(`${stdout}\n${stderr}`)
  if (code === 3) return { outcome: 'skipped', detail: `Hooks cannot be written here: ${said}` }
  if (code !== 0) throw fault('setup_failed', `${FILE} cannot be put before commits: ${said || `exit code ${code}`}`)
  return { outcome: 'done', detail: `${FILE} runs before commits` }
}
