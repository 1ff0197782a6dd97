import Foundation

extension RunningServer {
    /// The configuration, with which all servers serve the same content.
    var configuration: String {
        switch kind {
        case .nginx: nginx
        case .apache2: apache
        case .caddy: caddy
        }
    }

    private var place: String { folder.path }

    /// One process without a master, which does not change its user if it is root.
    private var nginx: String {
        let scratch = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(place)/temporary;" }.joined(separator: "\n    ")
        return """
            daemon off;
            master_process off;
            pid \(place)/nginx.pid;
            error_log stderr;
            events {}
            http {
                types { text/html html; }
                default_type application/octet-stream;
                access_log off;
                gzip on;
                \(scratch)
                server {
                    listen 127.0.0.1:\(port(.http1));
                    listen 127.0.0.1:\(port(.http1OverTLS)) ssl;
                    listen 127.0.0.1:\(port(.http2)) ssl http2;
                    ssl_certificate \(place)/certificate.pem;
                    ssl_certificate_key \(place)/key.pem;
                    root \(place)/site;
                    location = /old { return 302 /file.bin; }
                    location = /cipher { add_header Cipher $ssl_cipher; return 204; }
                    location = /packed.gz { add_header Content-Encoding gzip; }
                    location /dated/ { etag off; }
                    # Nobody knows the length of what may have includes.
                    location /included/ { alias \(place)/site/; ssi on; ssi_types *; }
                    location /private/ { auth_basic test; auth_basic_user_file \(place)/users; }
                }
            }

            """
    }

    private var apache: String {
        let modules = [
            "mpm_event", "authz_core", "authz_user", "authn_core", "authn_file", "auth_basic", "auth_digest", "mime",
            "filter", "deflate", "alias", "socache_shmcb", "ssl", "http2",
        ]
        return modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so\n" }.joined()
            + """
            ServerName 127.0.0.1
            PidFile \(place)/apache.pid
            Mutex file:\(place)
            ErrorLog \(place)/log
            User www-data
            Group www-data
            Listen 127.0.0.1:\(port(.http1))
            Listen 127.0.0.1:\(port(.http1OverTLS))
            Listen 127.0.0.1:\(port(.http2))
            Protocols http/1.1
            TypesConfig /dev/null
            AddType text/html .html
            AddEncoding gzip .gz
            AddOutputFilterByType DEFLATE text/html
            DocumentRoot \(place)/site
            SSLCertificateFile \(place)/certificate.pem
            SSLCertificateKeyFile \(place)/key.pem
            Redirect 302 /old /file.bin
            Alias /digest \(place)/site
            <Directory \(place)/site>
                Require all granted
            </Directory>
            <Directory \(place)/site/dated>
                FileETag None
            </Directory>
            <Location /private>
                AuthType Basic
                AuthName test
                AuthBasicProvider file
                AuthUserFile \(place)/users
                Require valid-user
            </Location>
            <Location /digest>
                AuthType Digest
                AuthName test
                AuthDigestProvider file
                AuthUserFile \(place)/digests
                Require valid-user
            </Location>
            <VirtualHost 127.0.0.1:\(port(.http1OverTLS))>
                SSLEngine on
            </VirtualHost>
            <VirtualHost 127.0.0.1:\(port(.http2))>
                SSLEngine on
                Protocols h2 http/1.1
            </VirtualHost>

            """
    }

    /// Caddy supports only bcrypt passwords: this hash of `secret` has the lowest cost.
    private var caddy: String {
        """
        {
            admin off
            auto_https off
            storage file_system \(place)/temporary
            servers 127.0.0.1:\(port(.http1OverTLS)) {
                protocols h1
            }
            servers {
                protocols h1 h2
            }
        }
        (site) {
            bind 127.0.0.1
            root * \(place)/site
            encode gzip
            redir /old /file.bin 302
            header /packed.gz Content-Encoding gzip
            header /dated/* -ETag
            basicauth /private/* {
                user $2a$04$fo/QoTFC9D/0OlfitBfOVOi3t8YLI.2CFVVF/JSiiJ0/E52MM5BM2
            }
            file_server
        }
        http://127.0.0.1:\(port(.http1)) {
            import site
        }
        https://127.0.0.1:\(port(.http1OverTLS)), https://127.0.0.1:\(port(.http2)) {
            tls \(place)/certificate.pem \(place)/key.pem
            import site
        }

        """
    }
}
