import { ActionButton, Problem } from '../ui/kit.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'

export interface Offer {
  name: string
  description: string | null
  source: string
  installed: boolean
}

export interface OffersProps {
  label: string
  read: (signal: AbortSignal) => Promise<Offer[]>
  install: (source: string) => Promise<unknown>
}

/** What marketplaces offer and is not there yet. Nothing where none is registered. */
export function Offers({ label, read, install }: OffersProps) {
  const { value = [], problem, again } = useLoad(read)
  const offers = value.filter(({ installed }) => !installed)
  if (problem !== undefined) return <Problem error={problem} again={again} />
  if (offers.length === 0) return null
  return (
    <details class="settings-more">
      <summary>{label}</summary>
      <ul class="settings-list">
        {offers.map(({ name, description, source }) => (
          <li key={`${name} ${source}`} class="settings-row">
            <div class="settings-row-text">
              <strong>{name}</strong>
              {description && <p>{description}</p>}
              <p class="quiet">
                <code>{source}</code>
              </p>
            </div>
            <ActionButton
              label={t('Install {name}', { name })}
              action={async () => {
                await install(source)
                await again()
              }}
            >
              {t('Install')}
            </ActionButton>
          </li>
        ))}
      </ul>
    </details>
  )
}
