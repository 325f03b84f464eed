import type { ObservationEvent } from '../../../src/api/events.ts'
import { t } from '../../words.ts'
import { textOf } from './content.tsx'
import { CopyButton } from './copy-button.tsx'
import type { ActionOf, Look, Looks, ObservationOf } from './look.tsx'
import { Output } from './output.tsx'

/** The exit code of what still runs. */
const STILL_RUNNING = -1

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? ''

function titleOf({ command, is_input, reset }: ActionOf<'TerminalAction'>): Look['words'] {
  if (reset) return [{ text: t('Restart the terminal') }]
  if (is_input && command === '') return [{ text: t('Look at what the command printed since') }]
  if (is_input) return [{ text: t('Type') }, { text: command, isCode: true }]
  return [{ text: t('Run') }, { text: firstLine(command), isCode: true }]
}

function Exit({ code, isTimeout }: { code: number | null | undefined; isTimeout: boolean }) {
  if (isTimeout) return <span class="card-chip card-chip-warn">{t('Timed out')}</span>
  if (code === STILL_RUNNING) return <span class="card-chip card-chip-warn">{t('Still runs')}</span>
  if (code === null || code === undefined) return null
  return <span class={`card-chip card-chip-${code === 0 ? 'good' : 'bad'}`}>{t('exit {code}', { code })}</span>
}

export const terminalLooks: Looks = {
  TerminalAction: (event, result) => {
    const action = event.action as ActionOf<'TerminalAction'>
    const seen = result?.observation as ObservationOf<'TerminalObservation'> | undefined
    return {
      icon: 'terminal',
      words: titleOf(action),
      chips: seen && <Exit code={seen.exit_code} isTimeout={seen.timeout} />,
      isOpen: true,
      tellsResult: !seen?.is_error,
      body: () => <Terminal id={event.id} action={action} result={result} />,
    }
  },
}

interface TerminalProps {
  id: string
  action: ActionOf<'TerminalAction'>
  result: ObservationEvent | undefined
}

function Terminal({ id, action, result }: TerminalProps) {
  const seen = result?.observation as ObservationOf<'TerminalObservation'> | undefined
  const text = seen?.is_error ? '' : textOf(seen?.content)
  return (
    <div class="terminal">
      {action.command && (
        <div class="output terminal-command">
          <pre>
            <span class="terminal-prompt" aria-hidden="true">
              {action.is_input ? '> ' : '$ '}
            </span>
            {action.command}
          </pre>
          <CopyButton text={action.command} label={t('Copy the command')} />
        </div>
      )}
      {text.trim() && <Output id={id} text={text} />}
      {seen && !seen.is_error && !text.trim() && <p class="quiet terminal-nothing">{t('Printed nothing')}</p>}
    </div>
  )
}
