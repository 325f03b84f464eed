import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

const CHROMIUM = '/usr/bin/chromium'

/** A reason to skip what needs a browser, or false. */
export const NO_BROWSER = !existsSync(CHROMIUM) && `${CHROMIUM} is not installed`

/** Names that an attacker owns and points at this machine. */
export const EVIL_HOST = 'evil.test'
export const REBOUND_HOST = 'rebound.test'

export const startBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--disable-quic',
      `--host-resolver-rules=MAP ${EVIL_HOST} 127.0.0.1, MAP ${REBOUND_HOST} 127.0.0.1`,
    ],
  })

/** A page that remembers what it asked for and what it complained of. */
export async function watchedPage(context: BrowserContext) {
  const page = await context.newPage()
  const requested: string[] = []
  const complaints: string[] = []
  page.on('request', request => requested.push(request.url()))
  page.on('websocket', socket => requested.push(socket.url()))
  page.on('pageerror', error => complaints.push(error.message))
  page.on('console', message => {
    if (message.type() !== 'error' && message.type() !== 'warning') return
    const { url } = message.location()
    // The page looks into folders that may not be there yet.
    if (!(url.includes('/api/file/list?') && message.text().includes('404')))
      complaints.push(`${message.text()} ${url}`)
  })
  return { page, requested, complaints }
}

/** Signs a browser in at this address, as the page itself does. */
export async function signInBrowser(page: Page, url: string, key: string): Promise<number> {
  await page.goto(url)
  return page.evaluate(
    async key =>
      (
        await fetch('/api/auth/sign-in', {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ key }),
        })
      ).status,
    key,
  )
}
