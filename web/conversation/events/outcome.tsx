import type { ActionEvent, Event } from '../../../src/api/events.ts'
import { t } from '../../words.ts'
import { Images, imagesOf, textOf } from './content.tsx'
import { Output } from './output.tsx'

/** Whether it went wrong, or was not allowed. */
export function isFailure(result: Event | undefined): boolean {
  if (result?.kind !== 'ObservationEvent') return result !== undefined
  const { observation } = result
  return observation.is_error || ('exit_code' in observation && (observation.exit_code ?? 0) > 0)
}

export interface OutcomeProps {
  event: ActionEvent
  result: Event | undefined
  /** Whether the card shows in its own way what came of it, unless it went wrong. */
  isTold: boolean
}

/** What came of an action. */
export function Outcome({ event, result, isTold }: OutcomeProps) {
  if (result?.kind === 'UserRejectObservation')
    return (
      <p class="card-refused">
        {result.rejection_source === 'hook' ? t('A hook refused it.') : t('You refused it.')}{' '}
        {result.rejection_reason && <q>{result.rejection_reason}</q>}
      </p>
    )
  if (result?.kind === 'AgentErrorEvent')
    return (
      <div class="card-error">
        <strong>{t('It did not work')}</strong>
        <Output id={event.id} text={result.error} />
      </div>
    )
  if (result?.kind !== 'ObservationEvent') return null
  const { content, is_error } = result.observation
  const images = imagesOf(content)
  const screenshot = 'screenshot_data' in result.observation && result.observation.screenshot_data
  if (screenshot && images.length === 0) images.push(`data:image/png;base64,${screenshot}`)
  const text = textOf(content)
  return (
    <>
      {(!isTold || is_error) && text.trim() && <Output id={event.id} text={text} isError={is_error} />}
      <Images urls={images} />
      {result.extended_content?.length > 0 && <Output id={`${event.id}-more`} text={textOf(result.extended_content)} />}
    </>
  )
}
