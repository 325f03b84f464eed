import { useMemo } from 'preact/hooks'
import { parseAnsi } from './ansi-parse.ts'

/** What a program printed to a terminal, in its colours. */
export function Ansi({ text }: { text: string }) {
  const stretches = useMemo(() => parseAnsi(text), [text])
  return (
    <>
      {stretches.map(({ text, looks, colour, ground }, at) =>
        looks.length === 0 && !colour && !ground ? (
          text
        ) : (
          <span
            key={at}
            class={looks.map(look => `ansi-${look}`).join(' ')}
            style={{ ...(colour && { '--ansi-colour': colour }), ...(ground && { '--ansi-ground': ground }) }}
            data-colour={colour && ''}
            data-ground={ground && ''}
          >
            {text}
          </span>
        ),
      )}
    </>
  )
}
