import { useEffect, useState } from 'preact/hooks'
import { Code } from '../ui/code.tsx'
import { Icon } from '../ui/icon.tsx'
import { bytes, Empty, Loading, Problem } from '../ui/kit.tsx'
import { Markdown } from '../ui/markdown.tsx'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { type Content, readContent } from './content.ts'
import type { Entry } from './listing.ts'
import { fileHref, type Place, pageHref, shown } from './place.ts'

/** What a browser shows better than a text. */
const PAGE = /\.(html?|pdf|svg)$/i
const MARKDOWN = /\.(md|markdown)$/i

export interface FileViewProps {
  place: Place
  entry: Entry
  /** Whenever it changes, the file may have. */
  version: number
  onClose: () => void
}

export function FileView({ place, entry, version, onClose }: FileViewProps) {
  const { value, problem, loading, again } = useLoad(signal => readContent(place, entry.path, signal), [entry.path])
  useEffect(() => {
    if (!loading) again()
  }, [version])
  const [rendered, setRendered] = useState(false)
  const page = PAGE.test(entry.name) ? pageHref(place, entry.path) : undefined
  return (
    <section class="file" aria-label={entry.name}>
      <div class="workspace-bar">
        <button
          type="button"
          class="icon"
          aria-label={t('Close the file')}
          title={t('Close the file')}
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
        <h3 class="file-name" title={entry.path}>
          {shown(place, entry.path)}
        </h3>
        {value && <span class="quiet">{bytes(value.size)}</span>}
        {MARKDOWN.test(entry.name) && (
          <button
            type="button"
            class="icon"
            aria-pressed={rendered}
            aria-label={t('Rendered')}
            title={t('Rendered')}
            onClick={() => setRendered(!rendered)}
          >
            <Icon name="eye" />
          </button>
        )}
        {page && (
          <a
            class="button icon"
            href={page}
            target="_blank"
            rel="noopener noreferrer"
            aria-label={t('Open {name} in a tab', { name: entry.name })}
            title={t('Open in a tab')}
          >
            <Icon name="external" />
          </a>
        )}
        <a
          class="button icon"
          href={fileHref(place, entry.path)}
          download={entry.name}
          aria-label={t('Download {name}', { name: entry.name })}
          title={t('Download')}
        >
          <Icon name="download" />
        </a>
      </div>
      <Problem error={problem} again={again} />
      {value ? <Shown content={value} name={entry.name} rendered={rendered} /> : problem === undefined && <Loading />}
    </section>
  )
}

function Shown({ content, name, rendered }: { content: Content; name: string; rendered: boolean }) {
  switch (content.kind) {
    case 'image':
      return (
        <div class="file-image">
          <img src={content.url} alt={name} />
        </div>
      )
    case 'binary':
      return (
        <Empty icon="file" title={t('This file is not text.')}>
          <p>{t('It can be downloaded.')}</p>
        </Empty>
      )
    case 'text':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
        <section class="file-text" tabIndex={0} aria-label={t('Content of {name}', { name })}>
          {content.cut && (
            <p class="file-cut">
              {t('Only its beginning is shown: {size} in all. Download it for the rest.', {
                size: bytes(content.size),
              })}
            </p>
          )}
          {content.size === 0 ? (
            <p class="file-cut">{t('The file is empty.')}</p>
          ) : rendered ? (
            <div class="file-rendered">
              <Markdown text={content.text} />
            </div>
          ) : (
            <div class="file-lines">
              <pre class="file-numbers" aria-hidden="true">
                {numbers(content.text)}
              </pre>
              <Code text={content.text} language={name} />
            </div>
          )}
        </section>
      )
  }
}

/** Of its lines; an end of line at the end begins no other one. */
const numbers = (text: string): string =>
  Array.from({ length: text.replace(/\n$/, '').split('\n').length }, (_, i) => i + 1).join('\n')
