import { useApp } from '../app.ts'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import type { Draft } from './draft.ts'
import { ChoiceInput } from './inputs.tsx'

/** Models may share the key of a stored connection. Where there is none, there is nothing to choose. */
export function ConnectionChoice({ draft }: { draft: Draft }) {
  const { quiet } = useApp()
  const { value: connections = [] } = useLoad(signal => quiet.listProviderConnections({ signal }))
  if (connections.length === 0) return null
  return (
    <ChoiceInput
      draft={draft}
      name="provider_connection_id"
      label={t('Key and address')}
      hint={t('A connection is shared by all models that name it, and changes for all of them.')}
      choices={[
        { value: null, label: t('Of its own') },
        ...connections.map(({ id, display_name }) => ({
          value: id,
          label: t('Of the connection {name}', { name: display_name }),
        })),
      ]}
    />
  )
}
