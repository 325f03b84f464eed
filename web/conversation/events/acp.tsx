import type { ACPToolCallEvent } from '../../../src/api/events.ts'
import { Icon } from '../../ui/icon.tsx'
import { t } from '../../words.ts'
import { Fold } from './fold.tsx'
import { Output } from './output.tsx'

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

/** What an agent of another make did with its own tools. */
export function AcpCall({ event }: { event: ACPToolCallEvent }) {
  const title = (
    <>
      <Icon name="gear" /> {event.title} {event.status && <span class="card-chip">{event.status}</span>}
    </>
  )
  const parts = { [t('Given')]: event.raw_input, [t('Result')]: event.raw_output ?? event.content }
  return (
    <Fold id={event.id} class="notice" title={title} isOpenAtFirst={event.is_error}>
      {() =>
        Object.entries(parts).map(
          ([name, value]) =>
            value != null && (
              <div key={name}>
                <p class="quiet">{name}</p>
                <Output id={`${event.id}-${name}`} text={shown(value)} isError={event.is_error} />
              </div>
            ),
        )
      }
    </Fold>
  )
}
