import { Ansi } from '../../ui/ansi.tsx'
import { plainText } from '../../ui/ansi-parse.ts'
import { t } from '../../words.ts'
import { CopyButton } from './copy-button.tsx'
import { Lines } from './lines.tsx'

const MOST_LINES = 12

export interface OutputProps {
  id: string
  text: string
  isError?: boolean
  label?: string
}

/** What something printed or answered: its end, and all of it on demand. */
export const Output = ({ id, text, isError = false, label = t('Copy the output') }: OutputProps) => (
  <div class="output" data-error={isError}>
    <Lines id={`${id}-output`} text={text.trimEnd()} most={MOST_LINES} keep="last">
      {part => (
        <pre>
          <Ansi text={part} />
        </pre>
      )}
    </Lines>
    <CopyButton text={plainText(text)} label={label} />
  </div>
)
