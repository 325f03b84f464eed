import { useEffect, useState } from 'preact/hooks'

/** Longer text is shown plain: colours would keep the page busy for too long. */
const MOST_COLOURED = 200_000

export interface CodeProps {
  text: string
  /** A file name or a language; guessed from nothing otherwise, that is, left plain. */
  language?: string
}

/** Colours are loaded when the first code is shown, and the text stands there plain until then. */
export function Code({ text, language }: CodeProps) {
  const [html, setHtml] = useState<string>()
  useEffect(() => {
    let wanted = true
    setHtml(undefined)
    if (language && text.length <= MOST_COLOURED)
      import('./highlight.ts').then(({ highlight }) => wanted && setHtml(highlight(text, language)))
    return () => {
      wanted = false
    }
  }, [text, language])
  return (
    <pre class="code">
      {html === undefined ? <code>{text}</code> : <code dangerouslySetInnerHTML={{ __html: html }} />}
    </pre>
  )
}
