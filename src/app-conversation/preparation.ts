import { fault } from '../api/errors.ts'
import type { ProviderType } from '../api/git-providers.ts'
import type { Settings } from '../api/settings.ts'
import type { Remote } from '../git-providers/remote.ts'
import { installGitHooks } from '../repository/git-hooks.ts'
import { prepareRepository } from '../repository/prepare.ts'
import type { Step, Trust } from '../repository/repository.ts'
import { runSetupScript } from '../repository/setup-script.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Approvals } from '../settings/approvals.ts'
import type { SettingsService } from '../settings/settings.ts'
import { repositoryName } from './placement.ts'
import type { StartTask } from './start-task.ts'
import type { Progress } from './starts.ts'

export interface PreparationParts {
  settings: SettingsService
  approvals: Approvals
  /** Where a repository is, and what opens it. */
  remoteOf(repository: string, provider: ProviderType | null): Promise<Remote>
  /** Whether walls stand between commands and this machine. */
  isolated(): Promise<boolean>
}

/** Brings what was ordered into a conversation's folder, and it alone. */
export class Preparation {
  readonly #parts: PreparationParts

  constructor(parts: PreparationParts) {
    this.#parts = parts
  }

  async repository({ conversation, record }: StartTask, sandbox: Sandbox, signal: AbortSignal): Promise<Progress> {
    const { request, folder, shared } = record
    if (request.parent_conversation_id !== null) return skipped('It works in the folder of its parent')
    if (folder === null) throw fault('record_damaged', 'The start')
    const { selected_repository: repository, selected_branch: branch } = request
    const { app, flat } = await this.#parts.settings.full()
    const remote = repository === null ? null : await this.#remote(repository, request.git_provider, record.trusted)
    const step = await prepareRepository(
      sandbox,
      {
        remote,
        folder,
        branch,
        workBranch: `gantry/${conversation.slice(0, 8)}`,
        fullHistory: app.git_full_clone,
        shared: remote && shared ? baseOf(sandbox, remote) : null,
        identity: identityOf(flat),
      },
      { signal },
    )
    if (!remote) return { step }
    return { step, notes: notesOf(remote, folder), request: { ...request, git_provider: remote.provider } }
  }

  async #remote(repository: string, provider: ProviderType | null, trusted: boolean): Promise<Remote> {
    const remote = await this.#parts.remoteOf(repository, provider)
    return trusted ? remote : { ...remote, credential: null }
  }

  async setUp({ record }: StartTask, sandbox: Sandbox, signal: AbortSignal): Promise<Progress> {
    const { request, folder } = record
    if (request.selected_repository === null || request.parent_conversation_id !== null) return {}
    return { step: await runSetupScript(sandbox, folder ?? '/', { trust: this.#trust, signal }) }
  }

  async gitHooks({ record }: StartTask, sandbox: Sandbox, signal: AbortSignal): Promise<Progress> {
    const { request, folder } = record
    if (request.selected_repository === null || request.parent_conversation_id !== null) return {}
    return { step: await installGitHooks(sandbox, folder ?? '/', { trust: this.#trust, signal }) }
  }

  /**
   * What a repository brings runs by itself only where its agent might run it unasked too, and only behind walls. Otherwise a
   * person has approved that very text.
   */
  readonly #trust: Trust = async sha256 => {
    const { settings, approvals, isolated } = this.#parts
    if (await approvals.isApproved(sha256)) return true
    const { conversation_settings } = await settings.full()
    return !conversation_settings.confirmation_mode && (await isolated())
  }
}

const skipped = (detail: string): { step: Step } => ({ step: { outcome: 'skipped', detail } })

/** Who commits: a commit needs somebody, whether or not the settings say who. */
const identityOf = ({ git_user_name, git_user_email, email }: Settings) => ({
  name: git_user_name || 'Gantry',
  email: git_user_email || email || 'gantry@localhost',
})

/** Outside of every conversation's folder. */
const baseOf = ({ home }: Sandbox, { provider, repository }: Remote): string =>
  `${home}/.gantry/repositories/${provider}/${repository.replaceAll(/[^\w.-]+/g, '--')}`

function notesOf({ repository, credential }: Remote, folder: string): string[] {
  const where = `The working directory ${folder} is a clone of ${repository} (${repositoryName(repository)}).`
  if (!credential) return [where]
  const { variable } = credential
  return [
    `${where} Git asks for no password: it takes the token from the variable ${variable}, which a command is given when it names it. To fetch or push, write \`${variable}="$${variable}" git push\`.`,
  ]
}
