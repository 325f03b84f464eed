import type { SandboxReport } from '../../src/api/sandboxes.ts'
import { When } from '../ui/kit.tsx'
import { plural, t } from '../words.ts'

/** What it printed while starting, and what it asked for and may not reach. */
export const Report = ({ report: { logs, refused } }: { report: SandboxReport }) => (
  <>
    {logs && (
      <details>
        <summary>{t('Log')}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys */}
        <pre tabIndex={0}>{logs}</pre>
      </details>
    )}
    {refused.length > 0 && (
      <details>
        <summary>{plural(refused.length, '{n} refused request', '{n} refused requests')}</summary>
        <div class="sandbox-refused">
          <table>
            <thead>
              <tr>
                <th scope="col">{t('Host')}</th>
                <th scope="col">{t('Why')}</th>
                <th scope="col">{t('Command')}</th>
                <th scope="col">{t('Times')}</th>
                <th scope="col">{t('Last')}</th>
              </tr>
            </thead>
            <tbody>
              {refused.map(one => (
                <tr key={`${one.host}:${one.port}`}>
                  <td>{`${one.host}:${one.port}`}</td>
                  <td>{one.why}</td>
                  <td>{one.command}</td>
                  <td>{one.count}</td>
                  <td>
                    <When at={one.at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    )}
  </>
)
