import DOMPurify from 'dompurify'
import { Marked } from 'marked'
import { useMemo } from 'preact/hooks'

/** Any other tag, or one with attributes, is text: whoever wrote it sees it, and no browser has to forbid it. */
const NO_TAG = /<(?!\/?(?:abbr|b|br|del|details|em|i|kbd|li|ol|p|s|strong|sub|summary|sup|ul)\s*\/?>)/gi

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const marked = new Marked({
  gfm: true,
  breaks: true,
  async: false,
  renderer: {
    html: ({ text }) => text.replace(/<!--.*?-->/gs, '').replace(NO_TAG, '&lt;'),
    /** Pictures lie elsewhere, and are not fetched without being asked for. */
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
})

/** Text comes from models and repositories: no style, form, frame or picture from elsewhere gets through. */
const ALLOWED = {
  ALLOWED_TAGS:
    'a abbr b blockquote br code del details em h1 h2 h3 h4 h5 h6 hr i input kbd li ol p pre s strong sub summary sup table tbody td th thead tr ul'.split(
      ' ',
    ),
  ALLOWED_ATTR: ['href', 'title', 'align', 'start', 'class', 'type', 'checked', 'disabled'],
  ALLOWED_URI_REGEXP: /^(https?:|mailto:|#)/i,
}

function purified(text: string): string {
  const holder = DOMPurify.sanitize(marked.parse(text) as string, { ...ALLOWED, RETURN_DOM: true }) as HTMLElement
  for (const link of holder.querySelectorAll('a')) {
    link.target = '_blank'
    link.rel = 'noopener noreferrer'
  }
  for (const box of holder.querySelectorAll('input')) if (box.type !== 'checkbox') box.remove()
  return holder.innerHTML
}

export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => purified(text), [text])
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} />
}
