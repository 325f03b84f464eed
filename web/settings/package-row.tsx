import { useState } from 'preact/hooks'
import type { InstalledSkillResponse } from '../../src/api/installed-skills.ts'
import { useApp } from '../app.ts'
import { Confirm } from '../ui/dialog.tsx'
import { ActionButton } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { Check } from './inputs.tsx'
import type { PackageVerbs } from './packages.tsx'

export interface PackageRowProps {
  installed: InstalledSkillResponse
  verbs: PackageVerbs
  onChange: () => Promise<void>
}

export function PackageRow({ installed, verbs, onChange }: PackageRowProps) {
  const { toasts } = useApp()
  const [isRemoving, setRemoving] = useState(false)
  const { name, version, description, enabled, source, resolved_ref: commit } = installed
  const then = async (done: Promise<unknown>, words: string) => {
    await done
    await onChange()
    toasts.say(words)
  }
  const enable = (wanted: boolean) =>
    then(verbs.enable(name, wanted), wanted ? t('{name} is on', { name }) : t('{name} is off', { name }))
  return (
    <li class="settings-row">
      <div class="settings-row-text">
        <strong>{name}</strong> {version && <span class="quiet">{version}</span>}
        {description && <p>{description}</p>}
        <p class="quiet">
          <code>{source}</code>
          {commit && (
            <>
              {' '}
              {t('at')} <code title={commit}>{commit.slice(0, 10)}</code>
            </>
          )}
        </p>
        <Check label={t('On')} checked={enabled} onChange={wanted => enable(wanted).catch(toasts.complain)} />
      </div>
      <div class="row">
        <ActionButton
          label={t('Refresh {name}', { name })}
          action={() => then(verbs.refresh(name), t('{name} is as it is at its source now', { name }))}
        >
          {t('Refresh')}
        </ActionButton>
        <button
          type="button"
          class="danger"
          aria-label={t('Remove {name}', { name })}
          onClick={() => setRemoving(true)}
        >
          {t('Remove')}
        </button>
      </div>
      {isRemoving && (
        <Confirm
          title={t('Remove {name}?', { name })}
          yes={t('Remove')}
          onClose={() => setRemoving(false)}
          action={() => then(verbs.remove(name), t('Removed'))}
        >
          <p>{t('Conversations that have it keep it. It can be installed again from its source.')}</p>
        </Confirm>
      )}
    </li>
  )
}
