import { useApp } from '../app.ts'
import { ActionButton, Empty } from '../ui/kit.tsx'
import { t } from '../words.ts'
import { type Place, SHARED } from './place.ts'

/** Instead of the workspace, while its sandbox does not run. */
export function Asleep({ place: { sandbox, status }, onAwake }: { place: Place; onAwake: () => void }) {
  const { api } = useApp()
  const wake = async () => {
    // The shared one is started by whatever is done in it.
    if (sandbox !== SHARED) await api.resumeSandbox({ params: { sandbox_id: sandbox } })
    onAwake()
  }
  return (
    <Empty icon="pause" title={t('The sandbox of this conversation is not running.')}>
      <p>
        {status === 'MISSING'
          ? t('Its files are gone. Started again, it is empty.')
          : t('Its files are kept. It starts by itself when the agent works, or now:')}
      </p>
      <ActionButton class="primary" icon="play" action={wake}>
        {t('Start it')}
      </ActionButton>
    </Empty>
  )
}
